"""Finding projects and specs, and checks across the specs of one project."""

from pathlib import Path

import pytest

import siltstone
from siltstone.engine.errors import SpecError
from siltstone.engine.spec import load_project, load_spec, load_specs, with_tables

ROOT = Path(__file__).parents[3]


def write_spec(folder: Path, name: str, table: str, more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"table: {table}\nsource: {{format: debezium-json, path: e.jsonl}}\n{more}", encoding="utf-8")
    return file


def test_without_a_file_the_project_is_the_folder_with_an_embedded_catalog(tmp_path: Path) -> None:
    project = load_project(start=tmp_path)
    assert (project.root, project.file, project.namespace) == (tmp_path, None, "silt")
    assert project.catalog.uri == f"jdbc:sqlite:{tmp_path}/lake/catalog.db"
    assert project.catalog.warehouse == f"file://{tmp_path}/lake/warehouse"


def test_the_project_file_is_found_upward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "siltstone.yaml").write_text("namespace: ledger\n", encoding="utf-8")
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert load_project().root == tmp_path
    assert load_project().namespace == "ledger"
    assert load_project(tmp_path) == load_project(tmp_path / "siltstone.yaml") == load_project()


def test_an_empty_project_file_is_a_project_of_defaults(tmp_path: Path) -> None:
    (tmp_path / "siltstone.yaml").write_text("# nothing yet\n", encoding="utf-8")
    assert load_project(start=tmp_path).file == tmp_path / "siltstone.yaml"


def test_all_violations_of_a_project_file_are_reported_at_once(tmp_path: Path) -> None:
    text = "catalog: {type: hadop, urii: x}\nnamespce: a\nspark: {master: 4}\nquality: {on_failure: stop}\n"
    (tmp_path / "siltstone.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_project(start=tmp_path)
    assert [(v.path, v.line) for v in caught.value.violations] == [
        ("$.catalog.type", 1), ("$.catalog.urii", 1), ("$.namespce", 2), ("$.spark.master", 3),
        ("$.quality.on_failure", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(("type_", "missing"), [("rest", "uri"), ("hive", "uri"), ("hadoop", "warehouse")])
def test_a_catalog_needs_the_settings_of_its_type(tmp_path: Path, type_: str, missing: str) -> None:
    (tmp_path / "siltstone.yaml").write_text(f"catalog: {{type: {type_}}}\n", encoding="utf-8")
    with pytest.raises(SpecError, match=f"needs a {missing}"):
        load_project(start=tmp_path)


def test_a_catalogs_name_is_one_that_spark_accepts(tmp_path: Path) -> None:
    (tmp_path / "siltstone.yaml").write_text("catalog: {name: a.b}\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"catalog\.name: 'a\.b' has a dot in it"):
        load_project(start=tmp_path)
    (tmp_path / "siltstone.yaml").write_text("catalog: {name: my lake}\n", encoding="utf-8")
    assert load_project(start=tmp_path).catalog.name == "my lake"


def test_a_requested_project_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        load_project(tmp_path / "other.yaml")


def test_specs_are_read_from_the_projects_folder_in_the_order_of_names(tmp_path: Path) -> None:
    write_spec(tmp_path / "specs", "b.yaml", "x.b")
    write_spec(tmp_path / "specs", "a.yaml", "x.a")
    project = load_project(start=tmp_path)
    assert [spec.table for spec in load_specs(None, project)] == ["x.a", "x.b"]
    assert [spec.table for spec in load_specs([tmp_path / "specs" / "b.yaml"], project)] == ["x.b"]
    assert [spec.table for spec in load_specs([tmp_path / "specs"], project)] == ["x.a", "x.b"]


def test_the_error_of_a_project_without_specs_names_siltstone_init(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="siltstone init"):
        load_specs(None, load_project(start=tmp_path))


def test_one_error_carries_the_violations_of_all_files(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    write_spec(folder, "a.yaml", "a", "evolution: x\n")
    write_spec(folder, "b.yaml", "x.b", "keys: [\n")
    with pytest.raises(SpecError) as caught:
        load_specs(None, load_project(start=tmp_path))
    assert [(v.file, v.path) for v in caught.value.violations] == [
        (folder / "a.yaml", "$.table"), (folder / "a.yaml", "$.evolution"), (folder / "b.yaml", "$"),
    ]  # fmt: skip


def test_two_specs_of_one_source_table_are_a_violation(tmp_path: Path) -> None:
    write_spec(tmp_path / "specs", "a.yaml", "x.t")
    write_spec(tmp_path / "specs", "b.yaml", "x.t")
    with pytest.raises(SpecError) as caught:
        load_specs(None, load_project(start=tmp_path))
    (found,) = caught.value.violations
    assert found.path == "$.table"
    assert "a.yaml" in found.message


def test_two_specs_that_write_one_table_are_a_violation_in_any_case_of_letters(tmp_path: Path) -> None:
    write_spec(tmp_path / "specs", "a.yaml", "x.t")
    write_spec(tmp_path / "specs", "b.yaml", "y.t", "target: {latest: X.T_History}\n")
    with pytest.raises(SpecError) as caught:
        load_specs(None, load_project(start=tmp_path))
    (found,) = caught.value.violations
    assert (found.path, found.line) == ("$.target.latest", 3)
    assert "'x.t' in a.yaml, history" in found.message


@pytest.mark.parametrize(("setting", "value"), [("epoch", "[{until: 2026-01-01T00:00:00Z}]"), ("order", "scn")])
def test_specs_that_give_the_same_events_two_positions_are_a_violation(
    tmp_path: Path, setting: str, value: str
) -> None:
    folder = tmp_path / "specs"
    write_spec(folder, "a.yaml", "x.a")
    other = write_spec(folder, "b.yaml", "x.b")
    other.write_text(other.read_text().replace("path:", f"{setting}: {value}, path:"), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_specs(None, load_project(start=tmp_path))
    (found,) = caught.value.violations
    assert (found.file, found.path) == (other, f"$.source.{setting}")
    assert f"'x.a' in a.yaml takes the same files with another source.{setting}" in found.message


def test_a_single_spec_is_loaded_with_its_project(tmp_path: Path) -> None:
    (tmp_path / "siltstone.yaml").write_text("namespace: ledger\n", encoding="utf-8")
    file = write_spec(tmp_path / "specs", "a.yaml", "x.t")
    loaded = load_spec(file)
    assert loaded.target.changes == "ledger.x_t_changes"
    assert loaded.source.path == str(tmp_path / "e.jsonl")


def test_the_public_api_is_imported_on_first_use() -> None:
    assert siltstone.load_spec is load_spec
    assert set(siltstone.__all__) <= set(dir(siltstone))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = siltstone.nothing


def test_a_project_has_its_other_tables_if_their_specs_can_be_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_spec(tmp_path / "specs", f"{name}.yaml", f"shop.{name}")
    write_spec(tmp_path / "specs", "broken.yaml", "shop.c", "nonsense: 1\n")
    project = load_project(tmp_path / "siltstone.yaml" if (tmp_path / "siltstone.yaml").exists() else None, tmp_path)
    named = load_specs([tmp_path / "specs" / "b.yaml"], project)
    known = with_tables(project, named)
    assert [spec.table for spec in known.tables] == ["shop.b", "shop.a"]
    assert [file.name for file in known.unread] == ["broken.yaml"]
    assert with_tables(known, known.tables[1:]).tables == known.tables[::-1]


def test_a_folder_that_a_file_address_cannot_name_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a#b"
    folder.mkdir()
    with pytest.raises(SpecError, match=r"/a#b: a # or \? ends the path in a file address"):
        load_project(start=folder)
    (folder / "siltstone.yaml").write_text("catalog: {warehouse: 's3://lake/warehouse'}\n", encoding="utf-8")
    assert load_project(start=folder).catalog.warehouse == "s3://lake/warehouse"
