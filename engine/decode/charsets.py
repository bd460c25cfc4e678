"""Text in the character sets of databases: MySQL's names, Oracle's and Java's.

Spark decodes what Java knows (`spark.sql.legacy.javaCharsets`), and shows by a replacement character what it cannot
(`spark.sql.legacy.codingErrorAction`); siltstone's sessions have both set.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

_UTF8: Final = (
    "utf8mb4", "utf8", "utf8mb3", "utf-8", "al32utf8", "ascii", "us-ascii", "us7ascii", "unicode", "utf8mb4_bin",
)  # fmt: skip
# MySQL's latin1 is Windows-1252 with the five codes that Windows leaves open.
_WINDOWS: Final = ("latin1", "cp1252", "windows-1252", "we8mswin1252")
_JAVA: Final = {
    "gbk": "GBK", "gb2312": "GB2312", "gb18030": "GB18030", "gb18030_2022": "GB18030", "big5": "Big5",
    "sjis": "Shift_JIS", "cp932": "windows-31j", "ujis": "EUC-JP", "eucjpms": "EUC-JP", "euckr": "x-windows-949",
    "ucs2": "UTF-16BE", "utf16": "UTF-16BE", "utf16le": "UTF-16LE", "utf32": "UTF-32BE",
    "latin2": "ISO-8859-2", "latin5": "ISO-8859-9", "latin7": "ISO-8859-13", "greek": "ISO-8859-7",
    "hebrew": "ISO-8859-8", "cp1250": "windows-1250", "cp1251": "windows-1251", "cp1256": "windows-1256",
    "cp1257": "windows-1257", "cp850": "IBM850", "cp852": "IBM852", "cp866": "IBM866", "koi8r": "KOI8-R",
    "koi8u": "KOI8-U", "tis620": "TIS-620", "macroman": "x-MacRoman", "macce": "x-MacCentralEurope",
    "zhs16gbk": "GBK", "zhs32gb18030": "GB18030", "zht16big5": "Big5", "ja16sjis": "Shift_JIS", "ja16euc": "EUC-JP",
    "ko16mswin949": "x-windows-949", "ko16ksc5601": "EUC-KR", "al16utf16": "UTF-16BE", "we8iso8859p1": "ISO-8859-1",
    "we8iso8859p15": "ISO-8859-15", "cl8mswin1251": "windows-1251", "ee8mswin1250": "windows-1250",
    "utf-16": "UTF-16", "utf-16be": "UTF-16BE", "utf-16le": "UTF-16LE", "utf-32": "UTF-32", "iso-8859-1": "ISO-8859-1",
    "iso8859_1": "ISO-8859-1", "iso-8859-2": "ISO-8859-2", "iso-8859-15": "ISO-8859-15", "shift_jis": "Shift_JIS",
    "windows-31j": "windows-31j", "ms932": "windows-31j", "euc-jp": "EUC-JP", "euc-kr": "EUC-KR", "ms936": "GBK",
    "cp936": "GBK", "ms949": "x-windows-949", "windows-949": "x-windows-949", "windows-1250": "windows-1250",
    "windows-1251": "windows-1251", "koi8-r": "KOI8-R", "iso-8859-9": "ISO-8859-9", "iso-8859-7": "ISO-8859-7",
}  # fmt: skip
_REPLACED: Final = "\ufffd"


def decoded(data: Column, charset: Column) -> Column:
    """The text of bytes; null where the set is not known, or the bytes are none of its. `charset` in lower case."""
    names = F.create_map(*[F.lit(text) for pair in _JAVA.items() for text in pair])
    other = F.call_function("decode", data, F.try_element_at(names, charset))
    plain = data.cast("string")
    return (
        F.when(charset.isin(*_UTF8), F.when(F.is_valid_utf8(plain), plain))
        .when(charset.isin(*_WINDOWS), _windows(data))
        .otherwise(F.when(~other.contains(_REPLACED), other))
    )


def _windows(data: Column) -> Column:
    """Each byte is the character of its number, but for those that Windows gave to others."""
    moved = [(chr(code), bytes([code]).decode("cp1252", "ignore")) for code in range(0x80, 0xA0)]
    olds, news = zip(*[pair for pair in moved if pair[1]], strict=True)
    return F.translate(F.decode(data, "ISO-8859-1"), "".join(olds), "".join(news))
