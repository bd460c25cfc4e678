"""`${project}` and `${env:NAME}` inside values. A value from the environment is used, but never shown.

`$${` is the text `${`. Keys are not interpolated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from siltstone.engine.spec.wording import Place, nearest

_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^}]*)\}")
_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


class FromEnvironment(str):
    """A text with a value of the environment in it. Its repr is the text of the file, which hides the value."""

    __slots__ = ("template",)
    template: str

    def __new__(cls, value: str, template: str) -> FromEnvironment:
        text = super().__new__(cls, value)
        text.template = template
        return text

    def __repr__(self) -> str:
        return repr(self.template)

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # str gives one value, this class needs two
        return str.__str__(self), self.template


def like(original: str, value: str) -> str:
    """A value derived from another one. It is hidden in messages if the original is."""
    return FromEnvironment(value, original.template) if isinstance(original, FromEnvironment) else value


def as_written(value: str) -> str:
    """The text of the file: for a value of the environment, the reference to it."""
    return value.template if isinstance(value, FromEnvironment) else value


@dataclass
class Interpolation:
    """One pass over the values of a file. `problems` collects references that could not be resolved."""

    root: Path
    environment: Mapping[str, str]
    problems: list[tuple[Place, str, str]] = field(default_factory=list)

    def fill(self, value: object, place: Place = ()) -> object:
        """The same value with every reference in its texts replaced."""
        if isinstance(value, str):
            return self._fill_text(value, place)
        if isinstance(value, Mapping):
            return {key: self.fill(inner, (*place, str(key))) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.fill(inner, (*place, index)) for index, inner in enumerate(value)]
        return value

    def _fill_text(self, text: str, place: Place) -> str:
        from_environment = False

        def replacement(match: re.Match[str]) -> str:
            nonlocal from_environment
            if match.group(1):
                return "${"
            if match.group(2) == "project":
                return str(self.root)
            variable = _VARIABLE.fullmatch(match.group(2))
            if variable is None:
                self._unknown_reference(match.group(2), place)
                return match.group(0)
            from_environment = True
            return self._variable(variable.group(1), match.group(0), place)

        filled = _REFERENCE.sub(replacement, text)
        return FromEnvironment(filled, text) if from_environment else filled

    def _variable(self, name: str, reference: str, place: Place) -> str:
        if name in self.environment:
            return self.environment[name]
        message = f"the environment variable {name} is not set"
        self.problems.append((place, message, f"set {name}, or write the value instead of {reference}."))
        return reference

    def _unknown_reference(self, reference: str, place: Place) -> None:
        message = f"${{{reference}}} is not known"
        match = nearest(reference, ["project", "env:NAME"])
        hint = f"did you mean ${{{match}}}?" if match else "use ${project} or ${env:NAME}; $${ is the text ${."
        self.problems.append((place, message, hint))
