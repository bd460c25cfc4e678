"""Text in the character sets of databases: MySQL's names, Oracle's, and Java's, those of java.nio and of java.io.

Spark decodes what Java knows (`spark.sql.legacy.javaCharsets`), and shows by a replacement character what it cannot
(`spark.sql.legacy.codingErrorAction`); siltstone's sessions have both set.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

_UTF8: Final = (
    "utf8mb4", "utf8", "utf8mb3", "utf-8", "al32utf8", "ascii", "us-ascii", "us7ascii", "unicode", "utf8mb4_bin",
    "ansi_x3.4-1968",
)  # fmt: skip
# MySQL's latin1 is Windows-1252 with the five codes that Windows leaves open.
_WINDOWS: Final = ("latin1", "cp1252", "windows-1252", "we8mswin1252")
_OF_DATABASES: Final = {
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
    "cp936": "GBK", "windows-949": "x-windows-949",
}  # fmt: skip
# Java's own names of each, and how java.io calls it.
_OF_JAVA: Final = {
    "Big5": "", "Big5-HKSCS": "big5_hkscs", "CESU-8": "cesu8", "EUC-JP": "euc_jp", "EUC-KR": "euc_kr",
    "GB18030": "gb18030-2022", "GB2312": "euc_cn euc-cn", "GBK": "windows-936", "IBM-Thai": "cp838",
    "IBM00858": "cp858 ibm858", "ISO-2022-CN": "iso2022cn", "ISO-2022-JP": "iso2022jp", "ISO-2022-JP-2": "iso2022jp2",
    "ISO-2022-KR": "iso2022kr", "JIS_X0201": "jis0201", "JIS_X0212-1990": "jis0212", "KOI8-R": "koi8_r",
    "KOI8-U": "koi8_u", "Shift_JIS": "shift-jis x-sjis", "TIS-620": "", "UTF-16": "utf_16 unicodebig",
    "UTF-16BE": "utf_16be unicodebigunmarked", "UTF-16LE": "utf_16le unicodelittleunmarked",
    "UTF-32": "utf_32", "UTF-32BE": "utf_32be", "UTF-32LE": "utf_32le", "X-UTF-32BE-BOM": "utf_32be_bom",
    "X-UTF-32LE-BOM": "utf_32le_bom", "x-UTF-16LE-BOM": "unicodelittle", "windows-31j": "ms932 windows-932",
    "x-Big5-Solaris": "big5_solaris", "x-EUC-TW": "euc_tw euc-tw", "x-ISCII91": "iscii91", "x-JIS0208": "jis0208",
    "x-Johab": "johab", "x-MS950-HKSCS": "ms950_hkscs", "x-PCK": "pck", "x-euc-jp-linux": "euc_jp_linux",
    "x-eucJP-Open": "euc_jp_solaris eucjp-open", "x-iso-8859-11": "iso-8859-11 iso8859_11", "x-mswin-936": "ms936",
    "x-windows-50220": "ms50220 cp50220", "x-windows-50221": "ms50221 cp50221", "x-windows-874": "ms874 windows-874",
    "x-windows-949": "ms949", "x-windows-950": "ms950 windows-950", "x-windows-iso2022jp": "windows-iso2022jp",
}  # fmt: skip
_ISO_PARTS: Final = (*range(1, 10), 13, 15, 16)
_WINDOWS_PAGES: Final = (1250, 1251, *range(1253, 1259))
_IBM_PAGES: Final = (
    "037 273 277 278 280 284 285 290 297 420 424 437 500 775 850 852 855 857 860 861 862 863 864 865 866 868 869 870 "
    "871 918 1026 1047"
)
_OTHER_IBM_PAGES: Final = (
    "300 737 833 856 874 875 921 922 930 933 935 937 939 942 942C 943 943C 948 949 949C 950 964 970 1006 1025 1046 "
    "1097 1098 1112 1122 1123 1124 1129 1166 1364 1381 1383 29626C 33722"
)
_MACINTOSH: Final = (
    "Arabic CentralEurope Croatian Cyrillic Dingbat Greek Hebrew Iceland Roman Romania Symbol Thai Turkish Ukraine"
)


def _spelled() -> dict[str, str]:
    """Java's name of each set by every name of it, in lower case, the names met most often first.

    What a name means to a database counts more than what it means to Java.
    """
    pages = [f"IBM{page}" for page in _IBM_PAGES.split()] + [f"x-IBM{page}" for page in _OTHER_IBM_PAGES.split()]
    pages += [f"IBM0{page}" for page in range(1140, 1150)]
    listed = {f"ISO-8859-{n}": [f"iso8859_{n}", f"iso8859-{n}", f"iso_8859-{n}", f"8859_{n}"] for n in _ISO_PARTS}
    listed |= {f"windows-{page}": [f"cp{page}"] for page in _WINDOWS_PAGES}
    listed |= {java: names.split() for java, names in _OF_JAVA.items()}
    listed |= {f"x-Mac{script}": [f"mac{script}"] for script in _MACINTOSH.split()}
    for java in pages:
        page = java.removeprefix("x-").removeprefix("IBM")
        listed[java] = [f"{word}{number}" for word in ("cp", "ibm", "ibm-") for number in (page, page.lstrip("0"))]
    found = {name.lower(): java for java, names in listed.items() for name in (java, *names)}
    return _OF_DATABASES | found | _OF_DATABASES


NAMES: Final = _spelled()
_WRITTEN: Final = ";".join(f"{name}={java}" for name, java in NAMES.items())  # one literal: hundreds take long to plan
_REPLACED: Final = "\ufffd"


def decoded(data: Column, charset: Column) -> Column:
    """The text of bytes; null where the set is not known, or the bytes are none of its. `charset` in lower case."""
    names = F.str_to_map(F.lit(_WRITTEN), F.lit(";"), F.lit("="))
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
