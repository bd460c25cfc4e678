"""YAML files as plain values with lines."""

from pathlib import Path

import pytest

from siltstone.engine.spec.yaml_document import Document, read_document


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "spec.yaml"


def read(file: Path, text: str) -> Document:
    file.write_text(text, encoding="utf-8")
    return read_document(file)


def test_words_that_look_like_truth_or_time_stay_text(file: Path) -> None:
    document = read(file, "no: off\nday: 2024-01-01\nat: 15:30\nyes: true\nx: null\nn: 12\nf: 0.5\nbig: 1_000\n")
    assert document.value == {
        "no": "off", "day": "2024-01-01", "at": "15:30", "yes": True, "x": None, "n": 12, "f": 0.5, "big": "1_000",
    }  # fmt: skip
    assert document.violations == []


def test_a_default_keeps_all_its_digits(file: Path) -> None:
    written = "{default: 1234567890.1234567891}"
    assert repr(read(file, f"a: {written}\n").value) == "{'a': {'default': 1234567890.1234567891}}"


def test_every_value_knows_its_line(file: Path) -> None:
    document = read(file, "a:\n  b: [1, 2]\n")
    assert document.marks[("a", "b")] == (2, 3)
    assert document.marks[("a", "b", 1)] == (2, 10)


WRONG = {
    "a: [1\nb: 2\n": ("the file is not YAML", 2, 2),
    "a: 1\n\tb: 2\n": ("the file is not YAML", 2, 1),
    "a: 1\na: 2\n": ("the key is repeated (first in line 1)", 2, 1),
    "1: a\n": ("the key 1 is not a text", 1, 1),
    "a: !!binary x\n": ("the tag", 1, 1),
    "a: &x [*x]\n": ("the value contains itself", 1, 4),
    f"a:\n  {'[' * 60}{']' * 60}\n": ("the values are nested too deeply", 1, 1),
    f"a: {'[' * 2000}{']' * 2000}\n": ("the values are nested too deeply", None, None),
    "a: 1\n---\nb: 1\n": ("more than one document", None, None),
    "": ("the file is empty", None, None),
    "# nothing\n~\n": ("the file is empty", None, None),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.items())
def test_a_faulty_file_is_named_with_line_and_column(
    file: Path, text: str, expected: tuple[str, int | None, int | None]
) -> None:
    (found,) = read(file, text).violations
    assert expected[0] in found.message
    assert (found.file, found.line, found.column) == (file, *expected[1:])


def test_a_file_that_is_missing_or_not_a_text_is_a_violation(file: Path) -> None:
    assert "cannot be read" in read_document(file).violations[0].message
    file.write_bytes(b"a: \xff\xfe\n")
    assert "UTF-8" in read_document(file).violations[0].message
