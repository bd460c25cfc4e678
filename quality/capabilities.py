"""The checks that a source cannot support, with the reason, as the formats declare them (`engine.formats`).

A check that a source does not support is `not available`, never `passed`. Some data is optional for a source (before
images, heartbeats): `quality.scope` looks for it in the changes.
"""

from collections.abc import Iterator, Mapping, Sequence

from siltstone.engine.formats import FORMATS, Format, SourceKind, kind_of


def unavailable_checks(sources: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The checks that none of these sources supports, each with the reason. An unknown source supports all checks."""
    kinds = [kind_of(source).unavailable_checks for source in sources]
    for check in kinds[0] if kinds else ():
        if all(check in kind for kind in kinds):
            yield check, f"not available for this format: {kinds[0][check]}"


def as_markdown() -> str:
    """The table in the documentation: a format or one kind of its sources, the checks that it does not support, why."""
    lines = ["| format | not available | because |", "|---|---|---|"]
    for title, unsupported in _shown().items():
        reasons: dict[str, list[str]] = {}
        for check, why in unsupported.items():
            reasons.setdefault(why, []).append(f"`{check}`")
        cells = [(", ".join(checks), why) for why, checks in reasons.items()] or [("(all are)", "")]
        lines += [f"| {title if n == 0 else ''} | {checks} | {why} |" for n, (checks, why) in enumerate(cells)]
    return "\n".join(lines) + "\n"


def _shown() -> dict[str, Mapping[str, str]]:
    """The titles of the rows, each with its unsupported checks. Formats with the same sources share rows, and so do the
    sources of a format that support the same checks."""
    alike_formats: dict[tuple[str, ...], list[Format]] = {}
    for each in FORMATS.values():
        alike_formats.setdefault(tuple(kind.begins for kind in each.sources), []).append(each)
    found: dict[str, Mapping[str, str]] = {}
    for formats in alike_formats.values():
        alike: list[list[SourceKind]] = []
        for kind in formats[0].sources:
            same = next((group for group in alike if group[0].unavailable_checks == kind.unavailable_checks), None)
            if same is None:
                alike.append([kind])
            else:
                same.append(kind)
        for group in alike:
            titles = ", ".join(kind.title for kind in group if kind.title)
            row = ", ".join(each.name for each in formats) + (f": {titles}" if titles else "")
            found[row] = group[0].unavailable_checks
    return found
