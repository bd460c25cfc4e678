"""The language of column types."""

import pytest

from siltstone.engine.spec.columns import ColumnTypeError, parse_column_type

STORED = {
    "boolean": ("boolean", "boolean", None),
    "tinyint": ("int", "integer", None),
    "SMALLINT": ("int", "integer", None),
    "bigint": ("bigint", "integer", None),
    "tinyint unsigned": ("int", "integer", None),
    "int unsigned": ("bigint", "integer", None),
    "bigint unsigned": ("decimal(20,0)", "unsigned", None),
    "double": ("double", "floating", None),
    "decimal(12,2)": ("decimal(12,2)", "decimal", 12),
    "numeric( 38 , 10 )": ("decimal(38,10)", "decimal", 38),
    "decimal(5)": ("decimal(5,0)", "decimal", 5),
    "string": ("string", "string", None),
    "varchar(20)": ("string", "string", None),
    "bytes": ("binary", "binary", None),
    "date": ("date", "date", None),
    "timestamp": ("timestamp", "timestamp", None),
    "timestamp(3)": ("timestamp", "timestamp", 3),
    "timestamp_ntz(6)": ("timestamp_ntz", "timestamp_ntz", 6),
    "time(6)": ("string", "time", 6),
    "bit(8)": ("string", "bits", 8),
    "bit": ("string", "bits", 1),
    "json": ("string", "json", None),
    "uuid": ("string", "uuid", None),
    "enum": ("string", "enum", None),
    "xml": ("string", "xml", None),
    "array<decimal(10,2)>": ("array<decimal(10,2)>", "array", None),
    "map<string, array<bigint>>": ("map<string,array<bigint>>", "map", None),
    "struct<a: int, `b c` timestamp(3)>": ("struct<a:int,`b c`:timestamp>", "struct", None),
}


@pytest.mark.parametrize(("text", "expected"), STORED.items())
def test_a_type_declares_what_is_stored_and_how_events_encode_it(
    text: str, expected: tuple[str, str, int | None]
) -> None:
    parsed = parse_column_type(text)
    encoding = parsed.source_encoding
    assert (parsed.spark_type, encoding.kind, encoding.precision) == expected
    assert parsed.text == text


@pytest.mark.parametrize("text", STORED)
def test_the_spark_value_of_a_type_is_built_without_a_session(text: str) -> None:
    parsed = parse_column_type(text)
    assert parsed.data_type().simpleString().replace("b c", "`b c`") == parsed.spark_type


def test_the_parts_of_a_nested_type_keep_their_own_encodings() -> None:
    parsed = parse_column_type("struct<at: timestamp(3), tags: array<json>>")
    (at, at_type), (tags, tags_type) = parsed.children
    assert (at, at_type.source_encoding.precision) == ("at", 3)
    assert (tags, tags_type.children[0][1].source_encoding.kind) == ("tags", "json")


WRONG = {
    "strng": "did you mean 'string'?",
    "timestamptz": "did you mean 'timestamp'?",
    "datetime": "did you mean 'timestamp_ntz'?",
    "text": "did you mean 'string'?",
    "JSONB": "did you mean 'json'?",
    "int8": "did you mean 'bigint'?",
    "number(10,2)": "did you mean 'decimal(38,9)'?",
    "array<nvarchar>": "did you mean 'string'?",
    "bigint unsinged": None,
    "decimal": "write decimal(12,2).",
    "decimal(39,2)": None,
    "decimal(2,3)": None,
    "decimal(12,2": None,
    "timestamp(10)": None,
    "timestamp(3,3)": None,
    "double unsigned": "use bigint unsigned.",
    "array<>": "docs/reference/spec.md lists the types.",
    "array": None,
    "map<string>": None,
    "map<map<int,int>,int>": None,
    "struct<a int, A int>": None,
    "struct<>": None,
    "int; drop table": None,
    "interval": "declare string, or bigint if the source sends microseconds.",
    "variant": "declare json: siltstone stores its text.",
}


@pytest.mark.parametrize(("text", "hint"), WRONG.items())
def test_a_text_that_is_not_a_type_is_refused_with_a_suggestion(text: str, hint: str | None) -> None:
    with pytest.raises(ColumnTypeError) as caught:
        parse_column_type(text)
    assert caught.value.hint == hint
