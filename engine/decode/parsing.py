"""Texts of JSON as structs: what Spark's `from_json` gives, sooner.

A reader of siltstone's own (`engine/jvm`, `ReadJson`) takes what is plain: an object with one thing of each name, whose
values have the types that are asked for. It is four times as fast. Where it is not sure that it would give the very
same, Spark's own reader reads the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode import fractions
from engine.json_text import options_text
from engine.jvm import CATALOG

READ_JSON: Final = f"{CATALOG}.read_json"
READ_JSON_OR_TEXT: Final = f"{CATALOG}.read_json_or_text"
READ_JSON_LINE: Final = f"{CATALOG}.read_json_line"
READ_JSON_EXACT_LINE: Final = f"{CATALOG}.read_json_exact_line"
READ_JSON_UNCUT_LINE: Final = f"{CATALOG}.read_json_uncut_line"
READ_JSON_QUOTED_LINE: Final = f"{CATALOG}.read_json_quoted_line"
FIRST_FIELD: Final = f"{CATALOG}.first_field"
FIRST_AT: Final = f"{CATALOG}.first_at"
OBJECT_SIZE: Final = f"{CATALOG}.object_size"
ARE_OBJECTS: Final = f"{CATALOG}.are_objects"
MAY_HAVE_WORD: Final = f"{CATALOG}.may_have_word"

CORRUPT: Final = {"columnNameOfCorruptRecord": "_malformed", "allowSingleQuotes": "false"}
"""For a schema that ends with BEHIND: the text where a field has another type stands in `_malformed`."""
BEHIND: Final = "_end int, _malformed string"
"""What stands behind `_line` in the type of `line_of`."""
_BEHIND: Final = (T.StructField("_end", T.IntegerType()), T.StructField("_malformed", T.StringType()))


def struct_of(text: Column, kind: str | T.StructType) -> Column:
    """The object in a text. `kind`: its fields, as a type or as the text of one."""
    options = {"columnNameOfCorruptRecord": names.REFUSED}  # by Spark's own name for it, a column could be called
    return _read(READ_JSON, text, kind, options)


def struct_or_text(text: Column, kind: T.StructType) -> Column:
    """The same; a text that holds a value of another type stands in the last field, which is a string."""
    options = {"columnNameOfCorruptRecord": kind.names[-1]}
    return _read(READ_JSON_OR_TEXT, text, kind, options)


def first_field(text: Column, kind: str) -> Column:
    """A struct of the one field of `kind`, where the object in a text begins with it: what is behind it is not read.
    Null of every other text."""
    return F.call_function(FIRST_FIELD, text, F.lit(None).cast(f"struct<{kind}>"))


def first_at(text: Column, *paths: str) -> Column:
    """What `get_json_object` gives of the first path at which an object has a value; the text where it has none at any.

    `paths`: plain names, with dots between them.
    """
    others = [F.get_json_object(text, f"$.{path}") for path in paths]
    return F.coalesce(F.call_function(FIRST_AT, text, F.lit("\n".join(paths))), *others, text)


def line_of(text: Column, kind: str | T.StructType) -> Column:
    """A struct of the value of a line and of BEHIND, which tells whether the line was one (`is_malformed`).

    `kind`: the fields of `_line`. Spark's parser gets the text inside of an object, with a field behind it: it sees
    what follows the text's own value, be it the brace that ends the object. Null where the text is not UTF-8: the
    parser would take another sign for what is none, and so for different texts the same.
    """
    return _read(READ_JSON_LINE, text, _of_line(kind), CORRUPT)


def exact_line_of(text: Column, kind: str | T.StructType) -> Column:
    """The same of a plain line, with the long fractions in what is handed on as text as they stand: Spark's parser
    makes doubles of them. Null of every other line."""
    return _read(READ_JSON_EXACT_LINE, text, _of_line(kind))


def uncut_line_of(text: Column, kind: str | T.StructType) -> Column:
    """The same with those fractions, and all powers of ten, as they stand that are all of a field; those inside of a
    field are doubles."""
    return _read(READ_JSON_UNCUT_LINE, text, _of_line(kind))


def quoted_line_of(text: Column, kind: str | T.StructType) -> Column:
    """What `line_of` gives, with these fractions in quotes, as `fractions.all_in_quotes` puts them; of every line."""
    plainly = _read(READ_JSON_QUOTED_LINE, text, _of_line(kind))
    return F.coalesce(plainly, line_of(fractions.all_in_quotes(text), kind))


def _of_line(kind: str | T.StructType) -> str | T.StructType:
    if isinstance(kind, str):
        return f"_line struct<{kind}>, {BEHIND}"
    return T.StructType([T.StructField("_line", kind), *_BEHIND])


def may_have_fields(text: Column, number: int) -> Column:
    """False where a text is for certain an object of more, or fewer, fields."""
    return F.call_function(OBJECT_SIZE, text).isin(number, -1)


def is_plain_object(text: Column) -> Column:
    """True where a text is for certain a JSON object, and nothing else."""
    return F.call_function(OBJECT_SIZE, text) >= 0


def are_objects(texts: Column, may_be_null: bool = False) -> Column:
    """Whether each text of an array begins as a JSON object does; null of no array. `may_be_null`: nulls may, too."""
    return F.call_function(ARE_OBJECTS, texts, F.lit(may_be_null))


def may_have_word(text: Column, *words: str) -> Column:
    """False where no string in a text of JSON has one of the words, in letters of any case.

    `words`: of small letters of ASCII.
    """
    return F.call_function(MAY_HAVE_WORD, text, F.lit(" ".join(words)))


def wrapped(text: Column) -> Column:
    """The text inside an object, with a field behind it; null where it is not UTF-8."""
    return F.when(F.is_valid_utf8(text), F.concat(F.lit('{"_line":'), text, F.lit(',"_end":0}')))


def _read(function: str, text: Column, kind: str | T.StructType, options: Mapping[str, str] | None = None) -> Column:
    """`options`: with which Spark reads what is not plain; None: nobody does, and it is null."""
    wanted = f"struct<{kind}>" if isinstance(kind, str) else kind
    told = F.lit(None if options is None else options_text(options)).cast("string")
    return F.call_function(function, text, F.lit(None).cast(wanted), told)
