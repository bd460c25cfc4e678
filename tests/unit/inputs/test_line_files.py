"""Lines of text files with their numbers, for any size of the pieces in which files are read."""

import random
from pathlib import Path

import pytest

from siltstone.engine.errors import SourceError
from siltstone.engine.inputs import compression, line_files
from siltstone.engine.inputs.line_files import BLANKS, BYTE_ORDER_MARK, Piece, counted, lines_of, numbered, pieces_of
from siltstone.engine.inputs.listing import InputFile, listed
from tests.unit.inputs.packed import PACKED


def pieces(file: Path, most: int = 1 << 20) -> list[Piece]:
    found = listed(str(file))
    assert found is not None
    return numbered(map(counted, pieces_of(found, most)))


def lines(found: list[Piece], after: int = 0) -> list[tuple[int, bytes]]:
    return [line for piece in found for chunk in lines_of(piece, after) for line in chunk]


def text(rng: random.Random) -> bytes:
    made = [rng.choice([b"x" * rng.randrange(30), b" \t", b"", b"\r"]) + b"\n" for _ in range(rng.randrange(1, 60))]
    return b"".join([rng.choice([b"", BYTE_ORDER_MARK]), *made, rng.choice([b"", b"tail"])])


@pytest.mark.parametrize("seed", range(40))
def test_lines_are_the_same_for_any_size_of_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    body, suffix = text(rng), rng.choice(["", *PACKED])
    file = tmp_path / f"a.jsonl{suffix}"
    file.write_bytes(PACKED[suffix](body) if suffix else body)
    expected = body.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    expected = expected if expected[-1] else expected[:-1]
    filled = [(number, line) for number, line in enumerate(expected, 1) if line.strip(BLANKS)]
    for _ in range(6):
        monkeypatch.setattr(line_files, "CHUNK_BYTES", rng.choice([1, 3, 7, 64, 1000]))
        found = pieces(file, rng.choice([1, 2, 5, 17, 1000]))
        after = rng.choice([0, 3])
        assert sum(piece.lines for piece in found) == len(expected)
        assert sum(piece.filled for piece in found) == len(filled)
        assert lines(found, after) == [line for line in filled if line[0] > after]


def test_blank_lines_are_counted_and_skipped(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"n":1}\r\n\r\n  \r\n\t\n \t \r\n\n{"n":2}\r\n\xc2\xa0\n\t{"n":3}\r\n\r')
    found = pieces(file)
    assert lines(found) == [(1, b'{"n":1}\r'), (7, b'{"n":2}\r'), (8, b"\xc2\xa0"), (9, b'\t{"n":3}\r')]
    assert (found[0].lines, found[0].filled) == (10, 4)


def test_a_line_that_is_appended_while_a_file_is_read_waits_for_the_next_run(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"n":1}\n{"n":2}\n')
    found = pieces(file)
    with file.open("ab") as grown:
        grown.write(b'{"n":3}\n{"n":4}\n')
    assert [number for number, _ in lines(found)] == [1, 2]


@pytest.mark.parametrize(("then", "reason"), [(b'{"n":1}\n{"n":5}\n', "changed"), (b'{"n":1}\n', "shorter")])
def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path, then: bytes, reason: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"n":1}\n{"n":2}\n')
    found = pieces(file)
    file.write_bytes(then)
    with pytest.raises(SourceError, match=reason):
        lines(found)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_file_that_ends_early_is_an_error(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.jsonl{suffix}"
    packed = PACKED[suffix](b"".join(b'{"n":%d}\n' % n for n in range(20_000)))
    file.write_bytes(packed[: len(packed) - 20])
    with pytest.raises(SourceError, match=r"the compressed stream (ends early|is damaged) after line \d+"):
        counted(Piece(str(file), 0, 1, 1))


@pytest.mark.parametrize("suffix", PACKED)
def test_a_file_can_have_several_compressed_streams(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.jsonl{suffix}"
    file.write_bytes(b"".join(PACKED[suffix](b'{"n":%d}\n' % n) for n in range(3)))
    assert [line for _, line in lines(pieces(file))] == [b'{"n":0}', b'{"n":1}', b'{"n":2}']


@pytest.mark.parametrize("suffix", [".deflate", ".bz2"])
def test_a_stream_can_end_anywhere_in_a_piece_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    file = tmp_path / f"a.jsonl{suffix}"
    file.write_bytes(b"".join(PACKED[suffix](b'{"n":%d}\n' % n) for n in range(3)))
    for size in range(1, 20):
        monkeypatch.setattr(compression, "PACKED_CHUNK", size)
        assert [line for _, line in lines(pieces(file))] == [b'{"n":0}', b'{"n":1}', b'{"n":2}']


@pytest.mark.parametrize("suffix", [".deflate", ".bz2"])
@pytest.mark.parametrize("rest", [b"\n", b"\0\0\0\0", b'{"n":2}\n', b"\x78", b"BZh9"])
def test_bytes_after_the_end_of_a_stream_are_an_error(tmp_path: Path, suffix: str, rest: bytes) -> None:
    file = tmp_path / f"a.jsonl{suffix}"
    file.write_bytes(PACKED[suffix](b'{"n":1}\n') + rest)
    with pytest.raises(SourceError, match=r"the compressed stream (ends early|is damaged) after line \d+"):
        counted(Piece(str(file), 0, 1, 1))


def test_a_deleted_file_is_an_error(tmp_path: Path) -> None:
    file = InputFile(f"file:{tmp_path}/none.jsonl", 3, 0)
    with pytest.raises(SourceError, match="gone since it was listed"):
        counted(pieces_of(file)[0])
