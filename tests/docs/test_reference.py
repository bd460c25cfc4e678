"""The pages of the reference say what the program does: keys, columns, checks, codes, variables, commands."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pyspark.sql import types as T

import siltstone
from siltstone.engine import errors, names, session, storage
from siltstone.engine.fold.markers import SUMMARY_GENERATION
from siltstone.engine.formats import FORMATS
from siltstone.engine.run.lease import PREFIX
from siltstone.engine.schema import control_kinds
from siltstone.engine.schema.change_row import change_schema
from siltstone.engine.schema.comments import ledger_comments
from siltstone.engine.schema.history_row import history_schema, latest_schema
from siltstone.engine.spec.check_names import CHECK_NAMES, CHECK_SEVERITY
from siltstone.engine.spec.model import StartingSpec, TrackSpec
from siltstone.engine.spec.project_config import ProjectConfig
from siltstone.engine.spec.table_config import TableConfig
from siltstone.engine.table.ledger import SCHEMAS
from siltstone.quality.catalogue import SUMMARIES
from siltstone.quality.gap_lifecycle import EVENTS
from tests.docs.generate import REFERENCE, generated_pages, with_part
from tests.docs.markdown import ROOT, listed, section, table_with, tables, without_blocks, words_in_code

MODELS: Final = {"spec.md": TableConfig, "project.md": ProjectConfig}
BY_OTHER_KEYS: Final = {"source.sequence_by"}
"""Keys that are required only where another key has a certain value."""
WORDS_ELSEWHERE: Final = {"source.format", "quality.checks"}
"""Keys whose words have a table of their own."""
NONE_AS: Final = {"lateness": "unbounded", "retain_changes": "forever"}
EMPTY: Final[T.StructType] = T.StructType([])


def text_of(page: str) -> str:
    """A page of the reference."""
    return (REFERENCE / page).read_text(encoding="utf-8")


# --- keys -----------------------------------------------------------------------------------------------------------


def model_keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, type[BaseModel], FieldInfo]]:
    """Every key of a model by its path, with the model that has it. Names of columns, and places in lists, are left
    out of paths."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}", model, field
        inner = inner_model(field.annotation)
        if inner is not None:
            yield from model_keys(inner, f"{prefix}{name}.")


def inner_model(annotation: Any) -> type[BaseModel] | None:
    """The model of a section: of a mapping, of its values, or of the entries of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (inner_model(part) for part in typing.get_args(annotation))
    return next((model for model in found if model is not None), None)


def page_keys(text: str, sections: typing.Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The rows of the tables of keys by the paths of the keys. The nearest heading that is the path of a section says
    where they belong."""
    prefixes: list[tuple[int, str]] = []
    parts = re.split(r"^(#+) +(.*)$", without_blocks(text), flags=re.MULTILINE)
    for level, heading, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        prefixes = [one for one in prefixes if one[0] < len(level)]
        prefixes.append((len(level), f"{heading}." if heading in sections else ""))
        prefix = next((found for _, found in reversed(prefixes) if found), "")
        for table in tables(body):
            if table[0][0] == "key":
                yield from ((prefix + words_in_code(row[0])[0], row) for row in table[1:])


def written(default: Any) -> str | None:
    """A default as a spec has it; None where there is no word for it."""
    if isinstance(default, timedelta):
        return in_units(default)
    if isinstance(default, bool):
        return str(default).lower()
    if default == TrackSpec() or default == CHECK_NAMES:
        return "all"
    if default == StartingSpec():
        return "earliest"
    if isinstance(default, int) and default >= 1 << 20:
        return f"{default >> 20}MB"
    return str(default) if isinstance(default, (str, int, float)) and default != "" else None


def in_units(span: timedelta) -> str:
    """A duration in its greatest unit."""
    units = (("d", 86_400), ("m", 60), ("s", 1))
    return next(
        f"{span // timedelta(seconds=size)}{unit}" for unit, size in units if not span % timedelta(seconds=size)
    )


def known_words(model: type[BaseModel], name: str) -> set[str]:
    """The words that a key takes, as the JSON Schema has them."""
    return set(_words(model.model_json_schema()["properties"][name]))


def _words(schema: Any) -> Iterator[str]:
    for key, value in schema.items() if isinstance(schema, Mapping) else ():
        if key == "enum":
            yield from (str(word) for word in value)
        elif key == "anyOf":
            for one in value:
                yield from _words(one)
        elif key in ("additionalProperties", "allOf"):
            yield from _words(value)


def wrong_keys(text: str, model: type[BaseModel]) -> Iterator[str]:
    """Where a page does not say what a model does."""
    known = {path: (owner, field) for path, owner, field in model_keys(model)}
    sections = {path.rpartition(".")[0] for path in known} - {""}
    rows = list(page_keys(text, sections))
    paths = [path for path, _ in rows]
    yield from (f"{path} is not on the page" for path in known if path not in paths)
    yield from (f"{path} is on the page twice" for path in set(paths) if paths.count(path) > 1)
    for path, (_, kind, default, meaning) in rows:
        if path not in known:
            yield f"{path} is no key of the model"
            continue
        owner, field = known[path]
        yield from wrong_default(path, default, field)
        if not meaning:
            yield f"{path} is not described"
        words = known_words(owner, path.rpartition(".")[2])
        shown = {word for word in words_in_code(kind) if re.fullmatch(r"[\w-]+", word)} - {"true", "false"}
        if path not in WORDS_ELSEWHERE and words and not words <= {*shown, *re.findall(r"\w+", kind)}:
            yield f"{path} takes {sorted(words)}, the page has {sorted(shown)}"
        if words and shown - words:
            yield f"{path} does not take {sorted(shown - words)}"


def wrong_default(path: str, shown: str, field: FieldInfo) -> Iterator[str]:
    """Where a page gives a key another default than the model."""
    if path in BY_OTHER_KEYS:
        return
    if field.is_required() != (shown == "required"):
        yield f"{path} is {'required' if field.is_required() else 'not required'}, the page says {shown!r}"
    elif not field.is_required():
        default = field.get_default(call_default_factory=True)
        expected = NONE_AS.get(path) if default is None else written(default)
        if expected is not None and words_in_code(shown) != [expected]:
            yield f"the default of {path} is {expected}, the page says {shown!r}"


@pytest.mark.parametrize("page", MODELS)
def test_a_page_has_the_keys_of_the_model_with_their_defaults_and_words(page: str) -> None:
    problems = list(wrong_keys(text_of(page), MODELS[page]))
    assert not problems, listed(problems)


def test_a_wrong_key_default_or_word_is_found() -> None:
    text = text_of("project.md")
    changed = (
        text.replace("| `retain` | duration | `3d` |", "| `retain` | duration | `4d` |")
        .replace("| `master` |", "| `mister` |")
        .replace("`glue`, `hive` or `hadoop`", "`glue` or `hadop`")
        .replace("| `url` | address | required |", "| `url` | address | none |")
    )
    assert sorted(wrong_keys(changed, ProjectConfig)) == [
        "catalog.type does not take ['hadop']",
        "catalog.type takes ['glue', 'hadoop', 'hive', 'jdbc', 'rest'], the page has ['glue', 'hadop', 'jdbc', 'rest']",
        "registry.url is required, the page says 'none'",
        "spark.master is not on the page",
        "spark.mister is no key of the model",
        "the default of maintenance.retain is 3d, the page says '`4d`'",
    ]


def test_the_formats_have_a_table_of_their_own() -> None:
    rows = table_with(section(text_of("spec.md"), "The place of the events"), "format")
    assert {words_in_code(row[0])[0] for row in rows} == set(FORMATS)


# --- tables ---------------------------------------------------------------------------------------------------------


def described(heading: str) -> list[tuple[str, str]]:
    """The columns that the page of tables has under a heading, with their types. One row can have several."""
    rows = table_with(section(text_of("tables.md"), heading), "column", "type")
    found = []
    for names_cell, types_cell, meaning in rows:
        columns, types = words_in_code(names_cell), types_cell.split(", ")
        assert meaning, columns
        found += list(zip(columns, types * len(columns) if len(types) == 1 else types, strict=True))
    return found


def in_words(kind: T.DataType) -> str:
    """A type as the page calls it."""
    if isinstance(kind, T.StructType):
        return "struct"
    return {"array<string>": "array of strings"}.get(kind.simpleString(), kind.simpleString())


def columns_of(schema: T.StructType) -> list[tuple[str, str]]:
    """The columns of a schema as the page has them."""
    return [(field.name, in_words(field.dataType)) for field in schema]


def columns_of_ddl(ddl: str) -> list[tuple[str, str]]:
    """The columns of a ledger, without a JVM."""
    words = {"array<string>": "array of strings", "map<string,bigint>": "map of string to bigint"}
    parts = re.findall(r"`?(\w+)`? (map<string,bigint>|[\w<>]+)", ddl)
    return [(name, words.get(kind, kind)) for name, kind in parts]


each_table = pytest.mark.parametrize(
    ("heading", "schema"),
    [
        ("latest", latest_schema(EMPTY)),
        ("history", history_schema(EMPTY)),
        ("changes", change_schema(EMPTY, EMPTY)),
    ],
)


@each_table
def test_the_page_has_the_columns_of_the_tables(heading: str, schema: T.StructType) -> None:
    assert described(heading) == columns_of(schema)


@each_table
def test_the_comments_on_columns_are_what_the_page_says(heading: str, schema: T.StructType) -> None:
    rows = table_with(section(text_of("tables.md"), heading), "column", "type")
    meanings = {words_in_code(row[0])[0]: row[2].replace("`", "") for row in rows}
    assert {field.name: field.metadata["comment"] for field in schema} == meanings


@pytest.mark.parametrize("ledger", SCHEMAS)
def test_every_column_of_a_ledger_has_a_comment(ledger: str) -> None:
    assert {name for name, _ in columns_of_ddl(SCHEMAS[ledger])} <= set(ledger_comments(ledger))


@pytest.mark.parametrize("ledger", SCHEMAS)
def test_the_page_has_the_columns_of_the_ledgers(ledger: str) -> None:
    assert sorted(described(ledger)) == sorted(columns_of_ddl(SCHEMAS[ledger]))


def test_columns_are_read_off_the_ddl_of_a_ledger() -> None:
    assert columns_of_ddl("a string, `table` string, m map<string,bigint>, k array<string>") == [
        ("a", "string"),
        ("table", "string"),
        ("m", "map of string to bigint"),
        ("k", "array of strings"),
    ]


def test_the_page_has_every_ledger() -> None:
    rows = table_with(text_of("tables.md"), "table", "one row per")
    named = {name.removeprefix("silt.") for row in rows for name in words_in_code(row[0]) if name.startswith("silt.")}
    assert named - {"inventory_customers_changes"} == {*names.LEDGER_TABLES, names.LEASE}


def test_the_page_has_every_kind_of_control_event() -> None:
    rows = table_with(section(text_of("tables.md"), "control"), "kind")
    kinds = {value for name, value in vars(control_kinds).items() if name.isupper() and isinstance(value, str)}
    assert {word for row in rows for word in words_in_code(row[0])} == kinds


def test_the_page_has_every_property_and_every_key_of_a_summary() -> None:
    page = text_of("tables.md")
    properties = {words_in_code(row[0])[0] for row in table_with(page, "property", "of")}
    keys = {words_in_code(row[0])[0] for row in table_with(section(page, "Snapshot summaries"), "key")}
    constants = {name: value for name, value in vars(names).items() if isinstance(value, str)}
    trust = ("CHECKED_BATCH", "COMPLETE_THROUGH", "COMPLETE_THROUGH_BY", "SEALED_UP_TO", "OPEN_GAPS")
    of_tables = {value for name, value in constants.items() if name.startswith("PROPERTY_") or name in trust}
    assert properties == of_tables | {f"{names.SINCE_PREFIX}COLUMN"}
    assert keys == {value for name, value in constants.items() if name.startswith("SUMMARY_")} | {SUMMARY_GENERATION}
    assert f"`{PREFIX}until`" in page


# --- checks, codes, variables ---------------------------------------------------------------------------------------


def test_the_page_has_every_check_with_its_severity_and_whether_it_leaves_a_gap() -> None:
    page = text_of("checks.md")
    rows = table_with(section(page, "All checks"), "check", "severity", "gap")
    found = {words_in_code(row[0])[0]: (row[1], row[2]) for row in rows}
    assert found == {name: (severity, "no" if name in EVENTS else "yes") for name, severity in CHECK_SEVERITY.items()}
    assert set(SUMMARIES) <= EVENTS
    assert all(section(page, name).strip() for name in found)


def test_the_pages_have_every_exit_code_and_error() -> None:
    classes = {
        name: kind.exit_code
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.SiltstoneError)
    }
    codes = {int(row[0]) for row in table_with(text_of("exit-codes.md"), "code")}
    assert codes == {0, *classes.values()}
    of_python = {words_in_code(row[0])[0]: int(row[1]) for row in table_with(text_of("python.md"), "class")}
    assert of_python == classes


def test_the_page_has_every_variable_of_the_environment() -> None:
    named = {word for row in table_with(text_of("settings.md"), "variable") for word in words_in_code(row[0])}
    sources = [path.read_text(encoding="utf-8") for root in ("engine", "quality") for path in python_files(root)]
    own = {name for text in sources for name in re.findall(r"\"(SILTSTONE_[A-Z_]+)\"", text)}
    stores = {name for variables in storage._ENVIRONMENT.values() for name in variables}
    assert "SILTSTONE_CACHE" in own
    assert own | stores | {*storage._CREDENTIALS.values(), *session.JAVA_OPTIONS, "JAVA_HOME"} <= named
    assert {name for name in named if name.startswith("SILTSTONE_")} == own


def python_files(root: str) -> list[Path]:
    """The modules of a package."""
    return sorted((ROOT / root).rglob("*.py"))


# --- what is generated ----------------------------------------------------------------------------------------------


def test_the_generated_parts_are_current() -> None:
    stale = [page.name for page, text in generated_pages() if page.read_text(encoding="utf-8") != text]
    assert not stale, f"run python -m tests.docs.generate: {', '.join(stale)} would change"


def test_every_command_and_every_function_has_a_section() -> None:
    page = text_of("cli.md")
    for command in ("init", "catch-up", "gaps ack", "rejects replay"):
        assert f"siltstone {command} [OPTIONS]" in section(page, command)
    assert "| `--wait NUMBER` |" in section(page, "catch-up")
    for function in siltstone.__all__:
        assert f"siltstone.{function}(" in section(text_of("python.md"), function)


def test_a_part_that_is_not_current_is_found() -> None:
    page = "a\n<!-- x: begin -->\n\nold\n\n<!-- x: end -->\nb\n"
    assert with_part(page, "x", "new") == page.replace("old", "new")
    assert with_part(page, "x", "old") == page
    with pytest.raises(ValueError, match="no part 'y'"):
        with_part(page, "y", "new")
