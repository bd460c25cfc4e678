"""Text in the character sets of databases, by the names of MySQL, Oracle, Python and Java (java.nio and java.io).

If a name means different character sets, the database's meaning counts. Java's EBCDIC code pages that Python lacks are
unknown.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

_UTF8: Final = frozenset(
    {
        *("utf8mb4", "utf8", "utf8mb3", "utf-8", "al32utf8", "ascii", "us-ascii", "us7ascii", "unicode"),
        *("utf8mb4_bin", "ansi_x3.4-1968"),
    }
)
_LATIN1: Final = frozenset({"latin1", "cp1252", "windows-1252", "we8mswin1252"})
"""MySQL's latin1 is Windows-1252 plus the five codes that Windows leaves undefined."""
_LATIN1_TABLE: Final = "".join(bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(256))
# GB18030 has all characters of GBK and the user-defined ones, which Python's GBK lacks.
_OF_DATABASES: Final = {
    "gbk": "gb18030", "gb2312": "gb2312", "gb18030": "gb18030", "gb18030_2022": "gb18030", "big5": "big5",
    "sjis": "shift_jis", "cp932": "cp932", "ujis": "euc_jp", "eucjpms": "euc_jp", "euckr": "cp949",
    "ucs2": "utf_16_be", "utf16": "utf_16_be", "utf16le": "utf_16_le", "utf32": "utf_32_be",
    "latin2": "iso8859_2", "latin5": "iso8859_9", "latin7": "iso8859_13", "greek": "iso8859_7", "hebrew": "iso8859_8",
    "cp1250": "cp1250", "cp1251": "cp1251", "cp1256": "cp1256", "cp1257": "cp1257", "cp850": "cp850",
    "cp852": "cp852", "cp866": "cp866", "koi8r": "koi8_r", "koi8u": "koi8_u", "tis620": "cp874",
    "macroman": "mac_roman", "macce": "mac_latin2", "zhs16gbk": "gb18030", "zhs32gb18030": "gb18030",
    "zht16big5": "big5", "ja16sjis": "shift_jis", "ja16euc": "euc_jp", "ko16mswin949": "cp949",
    "ko16ksc5601": "euc_kr", "al16utf16": "utf_16_be", "we8iso8859p1": "iso8859_1", "we8iso8859p15": "iso8859_15",
    "cl8mswin1251": "cp1251", "ee8mswin1250": "cp1250", "cp936": "gb18030", "windows-949": "cp949",
}  # fmt: skip
_OF_JAVA: Final = {
    "cesu-8": "utf_8", "cesu8": "utf_8", "euc_cn": "gb2312", "euc-cn": "gb2312", "gb18030-2022": "gb18030",
    "iso2022jp2": "iso2022_jp_2", "jis_x0201": "shift_jis", "jis0201": "shift_jis", "koi8-r": "koi8_r",
    "koi8-u": "koi8_u", "tis-620": "cp874", "unicodebig": "utf_16", "unicodelittle": "utf_16",
    "x-utf-16le-bom": "utf_16", "unicodebigunmarked": "utf_16_be", "unicodelittleunmarked": "utf_16_le",
    "x-utf-32be-bom": "utf_32", "x-utf-32le-bom": "utf_32", "utf_32be_bom": "utf_32", "utf_32le_bom": "utf_32",
    "utf_16be": "utf_16_be", "utf_16le": "utf_16_le", "utf_32be": "utf_32_be", "utf_32le": "utf_32_le",
    "x-sjis": "shift_jis", "shift-jis": "shift_jis", "windows-31j": "cp932", "x-windows-949": "cp949",
    "x-windows-950": "cp950", "x-windows-874": "cp874", "ms874": "cp874", "ms932": "cp932", "ms936": "gb18030",
    "windows-936": "gb18030", "x-mswin-936": "gb18030", "ms949": "cp949", "ms950": "cp950", "x-johab": "johab",
    "x-big5-solaris": "big5", "big5_solaris": "big5", "x-ms950-hkscs": "big5hkscs", "ms950_hkscs": "big5hkscs",
    "x-euc-jp-linux": "euc_jp", "euc_jp_linux": "euc_jp", "x-iso-8859-11": "iso8859_11", "ibm00858": "cp858",
    "windows-iso2022jp": "iso2022_jp_ext", "x-windows-iso2022jp": "iso2022_jp_ext", "x-ibm921": "iso8859_13",
    "cp921": "iso8859_13", "x-maccentraleurope": "mac_latin2", "maccentraleurope": "mac_latin2",
    "x-macromania": "mac_romanian", "macromania": "mac_romanian",
}  # fmt: skip
_FAMILIES: Final = (
    (re.compile(r"(?:iso)?[-_]?8859[-_]([0-9]{1,2})"), "iso8859_{}"),
    (re.compile(r"(?:x-)?(?:cp|ibm|ibm-|windows-)0*([0-9]{2,4})"), "cp{:0>3}"),
    (re.compile(r"(?:x-)?mac([a-z]+)"), "mac_{}"),
)
_NO_CHARACTERS: Final = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7"})
_MARKED: Final = {
    "utf_16": ((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE), "utf_16_be"),
    "utf_32": ((codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE), "utf_32_be"),
}
"""Codecs of text that begins with a byte order mark: the marks, and the codec of text without one."""


def decoded(data: bytes, charset: str) -> str | None:
    """The text of bytes; None if the character set is unknown or the bytes are not valid in it."""
    codec = _codec(charset)
    if codec is None:
        return None
    try:
        if codec == "utf-8":
            return data.decode()
        if codec == "latin1":
            return codecs.charmap_decode(data, "strict", _LATIN1_TABLE)[0]
        if codec in _MARKED and not data.startswith(_MARKED[codec][0]):
            codec = _MARKED[codec][1]
        return data.decode(codec)
    except UnicodeError:
        return None


@lru_cache(maxsize=1_000)
def _codec(charset: str) -> str | None:
    """Python's codec for the name of a character set."""
    name = charset.lower()
    if name in _UTF8:
        return "utf-8"
    if name in _LATIN1:
        return "latin1"
    known = _OF_DATABASES.get(name) or _OF_JAVA.get(name)
    if known is not None:
        return known
    family = next((form.format(found[1]) for pattern, form in _FAMILIES if (found := pattern.fullmatch(name))), name)
    return _of_python(family) or _of_python(name)


def _of_python(name: str) -> str | None:
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    found = codec.name.replace("-", "_")
    return found if codec._is_text_encoding and found not in _NO_CHARACTERS else None
