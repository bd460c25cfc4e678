"""What init makes of files themselves: the path that it writes for them, and the bytes before their first record."""

import bz2
import codecs
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import SourceError
from engine.recognise import find_tables

CANAL = {
    "database": "shop", "table": "a", "pkNames": ["id"], "isDdl": False, "type": "INSERT", "es": 1, "ts": 2,
    "mysqlType": {"id": "int"}, "data": [{"id": "1"}], "old": None,
}  # fmt: skip


@pytest.mark.parametrize(("ending", "packed"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_a_byte_order_mark_is_no_part_of_the_first_record(
    tmp_path: Path, ending: str, packed: Callable[[bytes], bytes]
) -> None:
    texts = {"people.csv": "id,name\r\n1,a\r\n", "canal.jsonl": f"{json.dumps(CANAL)}\n", "empty.jsonl": ""}
    for name, text in texts.items():
        (tmp_path / f"{name}{ending}").write_bytes(packed(codecs.BOM_UTF8 + text.encode()))
    people, canal, empty = (tmp_path / f"{name}{ending}" for name in texts)
    (rows,) = find_tables([people])
    assert (rows.container, list(rows.columns.types())) == ("csv", ["id", "name"])
    (events,) = find_tables([canal])
    assert (events.name, events.format) == ("shop.a", "canal-json")
    with pytest.raises(SourceError, match="the files are empty"):
        find_tables([empty])
