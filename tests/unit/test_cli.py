"""The command line: what it accepts, its errors, and its output."""

import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from siltstone.engine.cli import main
from siltstone.engine.cli.options import parse_keys, parse_ranges, parse_time
from siltstone.engine.cli.output import print_rows
from siltstone.engine.cli.run_commands import print_report
from siltstone.engine.errors import CommitConflictError, gist
from siltstone.engine.report import FAILED, OK, RunReport, SourceReport, TableReport

Run = Callable[..., tuple[int, str, str]]

SPEC = "table: inventory.customers\nsource: {format: debezium-json, path: events/*.jsonl}\n"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in an empty folder; gives exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SILTSTONE_DEBUG", raising=False)
    (tmp_path / "siltstone.yaml").write_text("namespace: silt\n")
    (tmp_path / "specs").mkdir()

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return call


def test_valid_specs_are_listed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "specs" / "customers.yaml").write_text(SPEC)
    code, out, _ = run("validate")
    assert code == 0
    assert "inventory.customers_history" in out
    assert out.splitlines()[-1] == "1 spec is valid"


def test_valid_specs_are_printed_as_json(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "specs" / "customers.yaml"
    file.write_text(SPEC)
    code, out, _ = run("validate", "--json")
    expected = {"valid": True, "specs": [{"file": str(file), "table": "inventory.customers", "warning": None}]}
    assert (code, json.loads(out)) == (0, expected)


def test_a_wrong_spec_ends_with_2_and_one_message(run: Run, tmp_path: Path) -> None:
    (tmp_path / "specs" / "customers.yaml").write_text(SPEC.replace("debezium-json", "debezium-jsn"))
    code, out, err = run("validate")
    assert (code, out) == (2, "")
    assert "$.source.format" in err
    assert "Traceback" not in err


def test_the_violations_of_a_wrong_spec_are_printed_as_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "specs" / "customers.yaml").write_text(SPEC.replace("debezium-json", "debezium-jsn"))
    code, out, _ = run("validate", "--json")
    printed = json.loads(out)
    assert (code, printed["valid"]) == (2, False)
    assert [violation["path"] for violation in printed["violations"]] == ["$.source.format"]


def test_schema_prints_json_schema(run: Run) -> None:
    code, out, _ = run("schema")
    assert code == 0
    assert "source" in json.loads(out)["properties"]


def test_show_before_the_first_run_names_the_command_to_run(run: Run) -> None:
    code, _, err = run("show", "inventory.customers")
    assert code == 2
    assert "nothing has been written yet" in err
    assert "siltstone catch-up" in err


def test_reading_creates_no_catalog(run: Run, tmp_path: Path) -> None:
    for command in (("show", "a.b"), ("export", "a.b"), ("runs",)):
        assert run(*command)[0] == 2
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "a.b", "--key", "42"),
        ("show", "a.b", "--key", "id=1", "--key", "id=2"),
        ("show", "a.b", "--as-of", "yesterday"),
        ("show", "a.b", "--as-of", "0001-01-01T00:00:00+14:00"),
        ("show", "a.b", "--as-recorded-at", "9999-12-31T23:59:59-14:00"),
        ("show", "a.b", "--limit", "-1"),
        ("show", "a.b", "--format", "xml"),
        ("catch-up", "--until", "soon"),
        ("nothing",),
    ],
)
def test_wrong_usage_ends_with_2_and_a_reason(run: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Usage:" in err


def test_an_error_ends_with_the_exit_code_of_its_class(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(*_: object) -> None:
        raise CommitConflictError("Cannot commit: another run was first.", "Retry.")

    monkeypatch.setattr("siltstone.engine.spec.spec_json_schema", conflict)
    code, _, err = run("schema")
    assert code == 75
    assert err.splitlines() == ["Cannot commit: another run was first.", "Hint: Retry."]


def test_an_unexpected_error_is_one_line_and_the_option_that_shows_more(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("first line\n\tat org.example.Thing")

    monkeypatch.setattr("siltstone.engine.spec.spec_json_schema", fail)
    code, _, err = run("schema")
    assert code == 1
    assert err.splitlines()[0] == "Unexpected ValueError: first line"
    assert "SILTSTONE_DEBUG=1" in err


def test_debugging_keeps_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SILTSTONE_DEBUG", "1")

    def conflict(*_: object) -> None:
        raise CommitConflictError("Cannot commit: another run was first.")

    monkeypatch.setattr("siltstone.engine.spec.spec_json_schema", conflict)
    with pytest.raises(CommitConflictError):
        main(["schema"])


def test_doctor_ends_with_2_without_java(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("SILTSTONE_JARS_DIR", str(tmp_path))
    code, out, _ = run("doctor", "--json")
    wrong = [finding["matter"] for finding in json.loads(out) if not finding["ok"]]
    assert (code, wrong) == (2, ["Java", "jars"])


def test_doctor_finds_no_problem_on_this_machine(run: Run) -> None:
    code, out, _ = run("doctor")
    assert code == 0, out
    assert "WRONG" not in out


def test_an_error_of_the_jvm_keeps_the_message_of_the_jvm() -> None:
    words = "org.apache.spark.SparkException: Job aborted"
    error = Exception(f"An error occurred while calling o47.collect.\n: {words}\n\tat org.example")
    assert gist(error) == words
    assert gist(Exception()) == ""


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-01-31", datetime(2024, 1, 31, tzinfo=UTC)),
        ("2024-01-31T12:00:00Z", datetime(2024, 1, 31, 12, tzinfo=UTC)),
        ("2024-01-31 12:00:00.5+02:00", datetime(2024, 1, 31, 10, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_times_are_utc_unless_they_have_a_zone(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment


def test_the_value_of_a_key_can_have_equals_signs() -> None:
    assert parse_keys(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    assert parse_keys(["a IS NULL", "b c is null ", "d=is null"]) == {"a": None, "b c": None, "d": "is null"}
    with pytest.raises(typer.BadParameter):
        parse_keys(["=1"])


def test_a_range_can_be_open_at_one_end() -> None:
    assert parse_ranges(["id=1..5", "at=2024-01-01..", "name=..m"]) == {
        "id": ("1", "5"),
        "at": ("2024-01-01", None),
        "name": (None, "m"),
    }
    for wrong in ("id=1", "id=..", "=1..2", "id"):
        with pytest.raises(typer.BadParameter):
            parse_ranges([wrong])


def test_a_wide_row_is_printed_with_one_column_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"column_{i}" for i in range(20)]
    print_rows(names, [dict.fromkeys(names, "x" * 100)])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("column_") for line in lines) == 20


def test_markup_in_values_is_printed_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(["[bold]"], [{"[bold]": "[red]x[/red]"}, {"[bold]": None}])
    out = capsys.readouterr().out
    assert "[red]x[/red]" in out
    assert "[bold]" in out


def test_the_report_of_a_run_has_its_counts_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    source = SourceReport("events/*.jsonl", 2, 1_234_567, {"a.b": 1_234_000}, 500, {"a.c": 60}, 7)
    good = TableReport("a.b", OK, 3, 1_234_000, versions={"opened": 10, "closed": 4}, seconds=1.25)
    bad = TableReport("a.d", FAILED, error="Cannot fold a.d: no keys.", exit_code=2)
    print_report(RunReport("r1", "2024-01-01T00:00:00Z", 3.21, (source,), (good, bad), 2))
    out = capsys.readouterr().out
    for words in ("1,234,567", "60", "a.d: Cannot fold a.d: no keys.", "run r1: 2 tables in 3.2 s"):
        assert words in out


@pytest.mark.parametrize(
    ("here", "output", "specs", "command"),
    [
        (".", (), "specs", "catch-up"),
        ("landing", (), "specs", "catch-up"),
        ("specs", (), "specs", "catch-up"),
        (".", ("-o", "specs"), "specs", "catch-up"),
        (".", ("-o", "other ones"), "other ones", "catch-up 'other ones'"),
        ("landing", ("-o", "specs"), "landing/specs", "catch-up specs"),
        ("landing", ("-o", "../specs"), "specs", "catch-up"),
        ("../next", ("-o", "../p/specs"), "specs", "catch-up --project ../p"),
    ],
)
def test_init_writes_to_the_projects_specs_and_names_the_next_command(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    here: str,
    output: tuple[str, ...],
    specs: str,
    command: str,
) -> None:
    root = tmp_path / "p"
    for folder in ("landing", "specs", "../next"):
        (root / folder).mkdir(parents=True)
    (tmp_path / "siltstone.yaml").rename(root / "siltstone.yaml")
    line = {"op": "c", "before": None, "after": {"id": 1}, "source": {"connector": "postgresql", "lsn": 1}}
    line["source"] |= {"db": "d", "schema": "s", "table": "t", "ts_ms": 1}
    (root / "landing" / "pg.jsonl").write_text(json.dumps({"key": {"id": 1}, "value": line}) + "\n")
    monkeypatch.chdir(root / here)
    code, out, err = run("init", str(root / "landing" / "pg.jsonl"), *output)
    assert (code, out.splitlines()[-1]) == (0, f"The specs run as they are: `siltstone {command}`."), err
    (file,) = root.rglob("s.t.yaml")
    assert (file.parent, "path: landing/pg.jsonl" in file.read_text()) == (root / specs, True)
    assert run("validate", *shlex.split(command)[1:])[0] == 0


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("demo", "--folder", "afile/x"), "afile/x"),
        (("init", "pg.jsonl", "-o", "afile"), "afile/s.t.yaml"),
        (("init", "pg.jsonl", "-o", "afile/below"), "afile/below/s.t.yaml"),
        (("report",), "report/index.html"),
    ],
)
def test_a_path_that_cannot_be_written_is_named(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], place: str
) -> None:
    for file in ("afile", "report"):
        (tmp_path / file).write_text("here already")
    source = {"connector": "postgresql", "lsn": 1, "db": "d", "schema": "s", "table": "t", "ts_ms": 1}
    value = {"op": "c", "before": None, "after": {"id": 1}, "source": source}
    (tmp_path / "pg.jsonl").write_text(json.dumps({"key": {"id": 1}, "value": value}) + "\n")
    code, out, err = run(*arguments)
    assert (code, out) == (2, ""), err
    message, hint = err.splitlines()
    assert re.fullmatch(rf"Cannot write (.*/)?{re.escape(place)}: (Not a directory|File exists)\.", message)
    assert hint.startswith("Hint: ")


@pytest.mark.parametrize(
    ("keys", "given", "words"),
    [
        ("", (), "Cannot explain inventory.customers: no key is given."),
        ("keys: [a, b]\n", (), "no value is given for a, b."),
        ("keys: [a, b]\n", ("--key", "a=1"), "no value is given for b."),
    ],
)
def test_a_missing_key_is_an_error_before_spark_starts(
    run: Run, tmp_path: Path, keys: str, given: tuple[str, ...], words: str
) -> None:
    (tmp_path / "specs" / "customers.yaml").write_text(SPEC + keys)
    code, out, err = run("explain", "customers", *given)
    assert (code, out) == (2, "")
    assert words in err
    assert "starting Spark" not in err


def test_a_rebuild_of_some_keys_cannot_re_read_inputs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "specs" / "customers.yaml").write_text(SPEC)
    code, out, err = run("rebuild", "--reread", "--key", "id=1")
    assert (code, out) == (2, "")
    assert "Cannot re-read the inputs for some keys only" in err
