"""Text, labels, and arrays."""

from pyspark.sql import types as T

from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.row_shape import Encoding
from tests.unit.decode.types.given import converted, json_values, reader

STRING = T.StringType()


def test_a_value_that_is_not_text_is_stored_as_its_json() -> None:
    cases = {
        '"x"': "x", "true": "true", "false": "false", "1": "1", "-7": "-7", "1.10": "1.10", "1e5": "1e5", "[]": "[]",
        '{ "a" : [1, "x", null, 1.50] }': '{"a":[1,"x",null,1.50]}', '"caf\\u00e9"': "café",
        '["\\ud83d\\ude00"]': '["😀"]',
        "18446744073709551616": "18446744073709551616", '""': "",
    }  # fmt: skip
    values = json_values(list(cases))
    assert [plain_text(value) for value in values] == list(cases.values())
    for kind in ("text", "any_text", "written_text", "integer", "floating", "boolean", "date", "moment", "array"):
        assert converted(reader(kind, STRING), values) == list(cases.values())


def test_an_ordinal_becomes_a_label_of_an_enum() -> None:
    found = reader(Encoding("written_enum", labels=("a", "b", "12")), STRING)
    assert converted(found, ["1", "3", "0", "4", "a", "x", 2, "", "1" * 30]) == [
        "a", "12", "", None, "a", "x", "b", "", "1" * 30
    ]  # fmt: skip


def test_a_mask_of_a_set_chooses_among_64_labels() -> None:
    labels = tuple(f"l{at}" for at in range(64))
    masks = [0, 1, 2**60 + 1, 2**63, 2**64 - 1, 2**64]
    found = converted(reader(Encoding("written_set", labels=labels), STRING), [*map(str, masks), "l0,l63", None])
    assert found == ["", "l0", "l0,l60", "l63", ",".join(labels), None, "l0,l63", None]
    assert converted(reader(Encoding("written_set", labels=labels[:2]), STRING), ["3", 4]) == ["l0,l1", None]


def test_an_array_is_stored_if_all_its_items_can_be() -> None:
    numbers = reader(Encoding("array", items=Encoding("integer")), T.ArrayType(T.IntegerType()))
    lists = json_values(["[1,null,2]", "[]", '["7"]', '[1,"x"]', "5", '"[1, 2]"', '{"a":1}', '"x"'])
    assert converted(numbers, lists) == [
        [1, None, 2], [], [7], None, None, [1, 2], None, None
    ]  # fmt: skip
    texts = reader(Encoding("array", items=Encoding("text")), T.ArrayType(STRING))
    assert converted(texts, json_values(['["a",1.10,null,[1],{"b":true}]'])) == [
        ["a", "1.10", None, "[1]", '{"b":true}']
    ]
    nested = reader(
        Encoding("array", items=Encoding("array", items=Encoding("days"))), T.ArrayType(T.ArrayType(T.DateType()))
    )
    assert converted(nested, json_values(["[[1],[null,2],null]", '[["x"]]'])) == [[[1], [None, 2], None], None]
    assert converted(reader("text", T.ArrayType(STRING)), json_values(['["a"]'])) == [None]
