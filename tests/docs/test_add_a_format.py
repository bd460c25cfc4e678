"""The format that the page "Add a format" builds decodes the page's own line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from siltstone.engine.decode.event import Change, Message, Reject
from siltstone.engine.formats.base import Format

PAGE = Path(__file__).parents[2] / "docs" / "contributing" / "add-a-format.md"
BLOCK = re.compile(r"```(?:python|json)\n(.*?)```", re.DOTALL)


def test_the_sample_of_the_page_runs() -> None:
    line, declaration, decoder = (found.strip() for found in BLOCK.findall(PAGE.read_text(encoding="utf-8"))[:3])
    sample: dict[str, Any] = {}
    for code in (declaration, decoder):
        exec(compile(code, str(PAGE), "exec", dont_inherit=True), sample)
    (declared,) = sample["FORMATS"]
    assert isinstance(declared, Format)
    assert re.search(declared.marks or b"no marks", line.encode())
    decode = sample["AcmeDecoder"](None, None).events
    (change,) = decode(Message("a.jsonl", 1, line.encode()))
    assert isinstance(change, Change)
    assert (change.table, change.op, change.position) == ("shop.orders", "update", "0000-0000000000001267")
    for broken in (line.replace("U", "X"), line.replace("4711", "-1"), line[:-1], '{"op": "U"}'):
        (reject,) = decode(Message("a.jsonl", 1, broken.encode()))
        assert isinstance(reject, Reject), broken
