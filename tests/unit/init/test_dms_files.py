"""Files that AWS DMS writes to S3 become specs of plain rows, in the order of delivery. The full load becomes READs."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from siltstone.engine.init.dms_files import commit_column, is_load, is_of_dms, names_of_values, table_folder
from siltstone.engine.init.spec_text import written_specs
from siltstone.engine.init.table_search import find_tables

LOAD = ["101,Smith,Bob,4-Jun-14,New York", "102,Smith,Bob,8-Oct-15,Los Angeles"]
CHANGES = ["I,104,Smith,Bob,8-Oct-15,Dallas", "U,101,Smith,Bob,13-Mar-17,Dallas", "D,102,Smith,Bob,13-Mar-17,Dallas"]
OWN = [f"column_{number}" for number in range(1, 6)]


def spec_at(root: Path) -> dict[str, object]:
    (spec,) = written_specs(find_tables([root / "land"]), root / "specs", root, [root / "land"])
    found: dict[str, object] = yaml.safe_load(spec.text)
    return found | {"open": spec.open_questions, "text": spec.text}


def write(root: Path, name: str, lines: list[str]) -> None:
    file = root / "land/hr/employee" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))


def test_files_without_a_header_give_a_spec_with_open_column_names(tmp_path: Path) -> None:
    write(tmp_path, "LOAD00000001.csv", LOAD)
    write(tmp_path, "20141029-1134010000.csv", CHANGES)
    spec = spec_at(tmp_path)
    assert (spec["table"], spec["open"]) == ("hr.employee", ("header", "keys"))
    source = spec["source"]
    assert isinstance(source, dict)
    assert source["sequence_by"] == ["_file", "_pos"]
    assert source["delete_when"] == "Op = 'D'"
    assert source["snapshot_when"] == "Op IS NULL OR (_file >= 'LOAD' AND _file < 'LOAE')"
    assert source["columns"] == {"except": ["Op"]}
    listed = ", ".join(OWN)
    assert f"for example {{LOAD*: [{listed}], '*': [Op, {listed}]}}" in str(spec["text"])
    assert "candidates: [column_1, column_5]" in str(spec["text"])


def test_files_with_a_header_give_a_spec_with_an_open_key(tmp_path: Path) -> None:
    write(tmp_path, "LOAD00000001.csv", ["dms_ts,id,name", "2014-10-29 11:00:00.000000,1,Bob"])
    for day in ("28", "29"):
        lines = ["Op,dms_ts,id,name", f"U,2014-10-{day} 11:34:00.000000,1,Rob"]
        write(tmp_path, f"2014/10/{day}/201410{day}-113401000.csv", lines)
    spec = spec_at(tmp_path)
    source = spec["source"]
    assert isinstance(source, dict)
    assert (spec["table"], spec["open"]) == ("hr.employee", ("keys",))
    assert (source["time_by"], source["columns"]) == ("dms_ts", {"except": ["Op", "dms_ts"]})


def test_parquet_files_of_dms_are_detected_by_the_same_names(tmp_path: Path) -> None:
    folder = tmp_path / "land/hr/employee"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1], "name": ["Bob"]}), folder / "LOAD00000001.parquet")
    changes = {"Op": ["U", "D"], "id": [1, 1], "name": ["Rob", "Rob"]}
    pq.write_table(pa.table(changes), folder / "20141029-113401000.parquet")
    spec = spec_at(tmp_path)
    assert (spec["table"], spec["open"]) == ("hr.employee", ("keys",))


def test_other_files_with_a_column_op_are_ordinary_rows(tmp_path: Path) -> None:
    write(tmp_path, "people-1.csv", ["Op,id,seq", "I,1,7"])
    spec = spec_at(tmp_path)
    assert (spec["table"], spec["open"]) == ("employee.people", ("sequence_by", "time_by", "keys"))


@pytest.mark.parametrize(
    ("name", "first", "found"),
    [
        ("LOAD00000001.csv", ["101", "Bob"], ("column_1", "column_2")),
        ("LOAD0000000A.csv.gz", ["I", "101"], ("Op", "column_1")),
        ("LOAD00000001.csv", ["id", "name"], ()),
        ("20141029-1134010000.csv", ["U", "Bob"], ("Op", "column_1")),
        ("20141029-1134010000.csv", ["Op", "name"], ()),
        ("people.csv", ["101", "Bob"], ()),
    ],
)
def test_a_first_row_of_values_is_not_a_header(name: str, first: list[str], found: tuple[str, ...]) -> None:
    assert names_of_values(Path(name), first) == found


def test_names_show_which_files_dms_wrote() -> None:
    assert [is_load(Path(name)) for name in ("LOAD00000001.csv", "LOADER.csv", "LOAD0000000F.parquet")] == [
        True, False, True
    ]  # fmt: skip
    assert [is_of_dms(Path(name)) for name in ("20141029-1134010000.csv", "2014.csv")] == [True, False]
    assert table_folder(Path("/a/hr/employee/2014/10/29/20141029-113401000.csv")) == Path("/a/hr/employee")
    assert table_folder(Path("/a/2014/x.csv")) == Path("/a/2014")
    assert commit_column(["Op", "dms_ts", "id"]) == "dms_ts"
    assert commit_column(["Op", "id", "commit_ts"]) is None
