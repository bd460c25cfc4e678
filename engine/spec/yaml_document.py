"""A YAML file as plain values, with the line of each value.

Plain words follow YAML 1.2: only `true` and `false` are truth values, a date is a text, `no` is a text. So a column can
be called `no` or `on`. A repeated key in a mapping is a violation, and so are tags and keys that are not texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from siltstone.engine.errors import Violation
from siltstone.engine.spec.wording import Place, place_text

Mark = tuple[int, int]

_TAG = "tag:yaml.org,2002:"
_DEEPEST = 50
_TOO_DEEP = "the values are nested too deeply"


class _Loader(yaml.SafeLoader):
    """Composes nodes only. Its plain words are those of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own protocol


_Loader.add_implicit_resolver(_TAG + "bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z", re.A), list("tTfF"))
_Loader.add_implicit_resolver(_TAG + "null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(_TAG + "int", re.compile(r"[-+]?[0-9]{1,40}\Z", re.A), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _TAG + "float", re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z", re.A), list("-+.0123456789")
)


class WrittenNumber(float):
    """A default with a fraction or an exponent, and its text. Its type is resolved later."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # float gives its number, this class needs a text
        return (self.text,)


@dataclass
class Document:
    """The values of one file, the place of each value, and the violations found in the text."""

    file: Path | None
    value: object = None
    empty: bool = False
    marks: dict[Place, Mark] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def violation(self, place: Place, message: str, hint: str | None = None) -> Violation:
        """A violation at a place, with the line of that place or of the innermost value around it that has one."""
        known = next((place[:n] for n in range(len(place), -1, -1) if place[:n] in self.marks), None)
        line, column = self.marks[known] if known is not None else (None, None)
        return Violation(place_text(place), message, hint, self.file, line, column)


def read_document(file: Path) -> Document:
    """Read the document in a file. `violations` has everything that is wrong with the file or its YAML."""
    document = Document(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
        nodes = list(yaml.compose_all(text, Loader=_Loader))
    except OSError as error:
        document.violations.append(Violation("$", f"the file cannot be read ({error.strerror})", None, file))
    except UnicodeDecodeError:
        document.violations.append(Violation("$", "the file is not UTF-8 text", "save it as UTF-8.", file))
    except RecursionError:
        document.violations.append(Violation("$", _TOO_DEEP, None, file))
    except yaml.YAMLError as error:
        document.violations.append(_syntax_violation(file, error))
    else:
        _read_nodes(document, nodes)
    return document


def _read_nodes(document: Document, nodes: Sequence[yaml.Node | None]) -> None:
    if len(nodes) > 1:
        document.violations.append(
            Violation(
                "$",
                "the file holds more than one document",
                "write one document per file, without '---'.",
                document.file,
            )
        )
        return
    if nodes and nodes[0] is not None:
        document.value = _value(document, nodes[0], (), ())
    if document.value is None and not document.violations:
        document.empty = True
        document.violations.append(Violation("$", "the file is empty", None, document.file))


def _syntax_violation(file: Path, error: yaml.YAMLError) -> Violation:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    context = getattr(error, "context", None)
    message = f"the file is not YAML: {problem}{f', {context}' if context else ''}"
    if mark is None:
        return Violation("$", message, None, file)
    hint = "indent with spaces." if "'\\t'" in str(problem) else None
    return Violation("$", message, hint, file, mark.line + 1, mark.column + 1)


def _value(document: Document, node: yaml.Node, place: Place, around: tuple[int, ...]) -> object:
    document.marks.setdefault(place, _mark(node))
    if id(node) in around:
        document.violations.append(document.violation(place, "the value contains itself"))
        return None
    if len(place) > _DEEPEST:
        document.violations.append(document.violation(place[:1], _TOO_DEEP))
        return None
    inside = (*around, id(node))
    if isinstance(node, yaml.MappingNode):
        return _mapping(document, node, place, inside)
    if isinstance(node, yaml.SequenceNode):
        return [_value(document, item, (*place, index), inside) for index, item in enumerate(node.value)]
    return _scalar(document, node, place)


def _mark(node: yaml.Node) -> Mark:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _mapping(document: Document, node: yaml.MappingNode, place: Place, around: tuple[int, ...]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            document.violations.append(document.violation(place, "a key must be a text"))
            continue
        key = str(key_node.value)
        inner = (*place, key)
        if key in values:
            first = document.marks[inner][0]
            document.marks[inner] = _mark(key_node)
            document.violations.append(document.violation(inner, f"the key is repeated (first in line {first})"))
            continue
        document.marks[inner] = _mark(key_node)
        if key_node.tag != _TAG + "str":
            document.violations.append(document.violation(inner, f"the key {key} is not a text", f'write "{key}".'))
        values[key] = _value(document, value_node, inner, around)
    return values


def _scalar(document: Document, node: yaml.Node, place: Place) -> object:
    text = str(node.value)
    match node.tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text)
        case "float":
            return WrittenNumber(text) if place[-1:] == ("default",) else float(text)
        case "str":
            return text
    message = f"the tag {node.tag} is not known"
    document.violations.append(document.violation(place, message, "write the value without a tag."))
    return None
