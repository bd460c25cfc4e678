"""`siltstone init s3://...` writes the same specs as for local files. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from siltstone.engine.cli import main
from siltstone.engine.spec import load_project, load_specs
from tests.servers.process import free_port
from tests.servers.s3 import S3

EVENTS = Path(__file__).parents[2] / "specs" / "events"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def bucket(s3: S3) -> str:
    """A bucket with the events of the example specs."""
    made = s3.bucket("events")
    for file in EVENTS.iterdir():
        s3.put(f"{made}/in/{file.name}", file.read_bytes())
    return made


@pytest.fixture(autouse=True)
def environment(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.variables.items():
        monkeypatch.setenv(name, value)


def init(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["init", *arguments])
    return int(ended.value.code or 0)


def test_init_writes_the_same_specs_as_for_local_files(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "in").symlink_to(EVENTS)
    assert init(f"{bucket}/in", "-o", str(tmp_path / "there" / "specs")) == 0
    assert init(str(tmp_path / "in"), "-o", str(tmp_path / "here" / "specs")) == 0
    here = {file.name: file.read_text() for file in (tmp_path / "here" / "specs").iterdir()}
    there = {file.name: file.read_text() for file in (tmp_path / "there" / "specs").iterdir()}
    assert len(there) == 5
    quoted = {
        name: text.replace(f"'{bucket}/in/", "").replace("*.jsonl.gz'", "*.jsonl.gz") for name, text in there.items()
    }
    assert {name: text.replace("*.csv'", "*.csv") for name, text in quoted.items()} == {
        name: text.replace(f"{tmp_path}/in/", "") for name, text in here.items()
    }


def test_the_spec_of_a_single_file_has_the_path_of_the_file(bucket: str, tmp_path: Path) -> None:
    assert init(f"{bucket}/in/shop.jsonl.gz", "-o", str(tmp_path / "specs")) == 0
    specs = load_specs(None, load_project(tmp_path))
    assert {spec.source.path for spec in specs} == {f"{bucket}/in/shop.jsonl.gz"}
    assert all(dict(spec.source.store)["client.region"] == "eu-west-1" for spec in specs)


@pytest.mark.parametrize(
    ("place", "code", "words"),
    [
        ("s3:/events/in", 2, "Cannot read s3:/events/in: it is neither a path nor a URI.\nHint: write s3://events/in"),
        ("s3://events/none", 3, "Cannot read s3://events/none: it does not exist."),
        ("s3://nowhere/in", 3, "Cannot read s3://nowhere/in: it does not exist: there is no s3://nowhere."),
        ("nfs://events/in", 3, "Cannot open nfs://events: "),
    ],
)
def test_an_error_names_a_place_that_cannot_be_read(
    bucket: str, tmp_path: Path, capsys: Capsys, place: str, code: int, words: str
) -> None:
    assert init(place, "-o", str(tmp_path / "specs")) == code
    assert words in capsys.readouterr().err
    assert not (tmp_path / "specs").exists()


def test_an_error_names_a_store_that_cannot_be_reached(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
    assert init("s3://events/in", "-o", str(tmp_path / "specs")) == 3
    assert f"Cannot read s3://events/in: it cannot be reached (127.0.0.1:{port})." in capsys.readouterr().err
