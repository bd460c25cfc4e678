"""The character sets of DTS's values."""

import json
from typing import Any

from pyspark.sql import SparkSession

from engine.decode import envelopes
from engine.decode.charsets import NAMES
from engine.spec.model import SourceSpec
from tests.dts_records import MYSQL, integer, line, record, text
from tests.unit.decode.given import lines

CHARSETS = [
    ("latin1", b"caf\xe9 \x80\x81", "café €\x81"),
    ("gb18030", "你好😀".encode("gb18030"), "你好😀"),
    ("sjis", "日本".encode("shift_jis"), "日本"),
    ("ucs2", "é".encode("utf-16-be"), "é"),
    ("utf16le", "😀".encode("utf-16-le"), "😀"),
    ("cp1251", "Привет".encode("cp1251"), "Привет"),
    ("big5", "中文".encode("big5"), "中文"),
    ("AL32UTF8", "é".encode(), "é"),
    *[
        (name, word.encode(codec), word)
        for name, codec, word in (
            ("ISO8859_2", "iso8859-2", "łódź"), ("ISO8859_5", "iso8859-5", "я"), ("ISO8859_7", "iso8859-7", "ώ"),
            ("ISO8859_9", "iso8859-9", "ış"), ("ISO-8859-13", "iso8859-13", "ž"), ("ISO8859_15", "iso8859-15", "€"),
            ("Cp1252", "cp1252", "€é"), ("Cp1253", "cp1253", "ώ"), ("Cp437", "cp437", "é"), ("Cp037", "cp037", "aé"),
            ("EUC_KR", "euc-kr", "한"), ("EUC_JP", "euc-jp", "日"), ("EUC_CN", "gb2312", "中"), ("MS932", "cp932", "①"),
            ("ISO2022JP", "iso2022-jp", "日本"), ("MacCyrillic", "mac-cyrillic", "Я"), ("TIS620", "tis-620", "ก"),
            ("UnicodeLittleUnmarked", "utf-16-le", "é"), ("ASCII", "ascii", "a"),
        )
    ],
]  # fmt: skip


def test_each_value_is_read_in_its_own_character_set(spark: SparkSession) -> None:
    texts = [line(record("INSERT", MYSQL, None, [integer(1), text(data, name)])) for name, data, _ in CHARSETS]
    rows = envelopes(lines(spark, texts), SourceSpec("dts-avro", "/data/dts")).orderBy("line").collect()
    found = [json.loads(row.after_json)["name"] for row in rows]
    assert found == [expected for _, _, expected in CHARSETS]
    java: Any = spark._jvm
    assert [name for name in sorted({*NAMES.values()}) if not java.java.nio.charset.Charset.isSupported(name)] == []
