"""Paths that are patterns, and names that only look like them."""

import pytest

from siltstone.engine.inputs.globs import exactly, is_pattern, plain, plain_start


@pytest.mark.parametrize(
    ("path", "start"),
    [
        ("/in/orders.jsonl", "/in/orders.jsonl"),
        ("/in/*.jsonl", "/in/"),
        ("/in/{a,b}/x", "/in/"),
        ("/in/day-?[0-9]/x", "/in/day-"),
        (r"/in/a\[1].jsonl", "/in/a[1].jsonl"),
        (r"/in/a\*/b*.jsonl", "/in/a*/b"),
        ("*", ""),
    ],
)
def test_a_path_is_split_before_its_first_pattern(path: str, start: str) -> None:
    assert plain_start(path) == start
    assert is_pattern(path) == (plain(path) != start)


@pytest.mark.parametrize("name", ["/in/a[1].jsonl", "/in/{x}.jsonl", r"/in/b\c?.jsonl", "/in/*"])
def test_an_escaped_name_is_not_a_pattern(name: str) -> None:
    assert is_pattern(name)
    assert not is_pattern(exactly(name))
    assert plain(exactly(name)) == name
