"""Which checks a source can carry at all, as the formats declare it (`engine.formats`), with the reason where not.

A check that a source does not carry is not available, never passed. What a source could carry and did not (no before
images, no heartbeats) is found out from its changes, in `quality.scope`.
"""

from collections.abc import Iterator, Mapping, Sequence

from siltstone.engine.formats import FORMATS, Format, SourceKind, kind_of


def not_carried(sources: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The checks that none of these sources can carry, each with the reason. An unknown source can carry all."""
    kinds = [kind_of(source).not_carried for source in sources]
    for check in kinds[0] if kinds else ():
        if all(check in kind for kind in kinds):
            yield check, f"not available for this format: {kinds[0][check]}"


def as_markdown() -> str:
    """The table as the documentation shows it: lines for a format and its sources, the checks that they cannot carry,
    and why."""
    lines = ["| format | not available | because |", "|---|---|---|"]
    for title, not_carried in _shown().items():
        reasons: dict[str, list[str]] = {}
        for check, why in not_carried.items():
            reasons.setdefault(why, []).append(f"`{check}`")
        cells = [(", ".join(checks), why) for why, checks in reasons.items()] or [("(all are)", "")]
        lines += [f"| {title if n == 0 else ''} | {checks} | {why} |" for n, (checks, why) in enumerate(cells)]
    return "\n".join(lines) + "\n"


def _shown() -> dict[str, Mapping[str, str]]:
    """What the lines are called, each with the checks that cannot be carried: formats of the same sources together, and
    their sources that carry the same checks."""
    alike_formats: dict[tuple[str, ...], list[Format]] = {}
    for each in FORMATS.values():
        alike_formats.setdefault(tuple(kind.begins for kind in each.sources), []).append(each)
    found: dict[str, Mapping[str, str]] = {}
    for formats in alike_formats.values():
        alike: list[list[SourceKind]] = []
        for kind in formats[0].sources:
            same = next((group for group in alike if group[0].not_carried == kind.not_carried), None)
            if same is None:
                alike.append([kind])
            else:
                same.append(kind)
        for group in alike:
            titles = ", ".join(kind.title for kind in group if kind.title)
            found[", ".join(each.name for each in formats) + (f": {titles}" if titles else "")] = group[0].not_carried
    return found
