"""The report for a chat or a CI log, in Markdown, and for a program, as plain values."""

from dataclasses import asdict
from typing import Any

from siltstone.engine.reader.position_reader import shown_span
from siltstone.quality.report.facts import Facts, TableFacts
from siltstone.quality.report.page import moment, sentence, words
from siltstone.quality.report.verdict import (
    Level,
    Trouble,
    age_of,
    level_of,
    limit_of,
    troubles,
    troubles_of_sources,
    verdict,
)

MARKS = {Level.BAD: "❌", Level.LOOK: "⚠️", Level.GOOD: "✅", Level.NONE: "·"}
TROUBLES_TOLD = 12
TABLES_TOLD = 30


def markdown(facts: Facts) -> str:
    """The verdict, what to do, and a line a table."""
    said = verdict(facts)
    found = [one for table in facts.tables for one in troubles(table, facts.at) if one.level != Level.GOOD]
    found += troubles_of_sources(facts)
    lines = [f"## {MARKS[said.level]} {said.headline}", "", escaped(f"{said.detail} {said.age}".strip()), ""]
    lines += [line_of(one) for one in found[:TROUBLES_TOLD]]
    if len(found) > TROUBLES_TOLD:
        lines.append(f"- and {len(found) - TROUBLES_TOLD} more")
    ran = [table for table in facts.tables if table.runs]
    if ran:
        lines += [
            "",
            "| | table | complete through | sealed up to | last run | changes |",
            "|---|---|---|---|---|---:|",
        ]
    for table in ran[:TABLES_TOLD]:
        through = moment(table.complete_through) if table.complete_through else "unknown"
        sealed = moment(table.sealed_up_to) if table.sealed_up_to else "nothing"
        run = table.runs[-1]
        cells = (MARKS[level_of(table, facts.at)], code(table.table), through, sealed, run.status, f"{run.changes:,}")
        lines.append(f"| {' | '.join(cells)} |")
    if len(ran) > TABLES_TOLD:
        lines.append(f"\nand {len(ran) - TABLES_TOLD} more tables")
    return "\n".join(lines).strip() + "\n"


def line_of(one: Trouble) -> str:
    """One matter as an item of a list."""
    keys = ", ".join(map(code, one.keys))
    more = f" and {one.places - len(one.keys)} more" if one.keys and one.places > len(one.keys) else ""
    ends = [code(end) for end in (one.shown_from, one.shown_to) if end is not None]
    span = f" Log range {' to '.join(dict.fromkeys(ends))}." if ends else ""
    told = f" Keys: {keys}{more}." if keys else ""
    do = f" {escaped(one.do)}" if one.do else ""
    return f"- **{code(one.table)}: {escaped(words(one.what))}.** {escaped(sentence(one.text))}{told}{span}{do}"


def code(text: str) -> str:
    """Text as a name or a value."""
    return "`" + text.replace("`", "'").replace("\n", " ").replace("|", "\\|") + "`"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
    return "".join(f"\\{sign}" if sign in "|*[]" else sign for sign in shown)


def plain(facts: Facts) -> dict[str, Any]:
    """Everything the page shows, for a program."""
    said = verdict(facts)
    tables = [
        asdict(table)
        | {"level": level_of(table, facts.at).value}
        | ages(table, facts)
        | {"gaps": [asdict(gap) | shown_span(gap, table.notation) for gap in table.gaps]}
        | {"troubles": [asdict(one) for one in troubles(table, facts.at)]}
        for table in facts.tables
    ]
    return {
        "verdict": {"level": said.level.value, "headline": said.headline, "detail": said.detail, "age": said.age},
        "project": facts.project,
        "namespace": facts.namespace,
        "at": facts.at,
        "tables": tables,
        "rejects": [asdict(one) for one in facts.rejects],
    }


def ages(table: TableFacts, facts: Facts) -> dict[str, float | None]:
    """How old a table's data is, and may be, in seconds; None: not known, or as old as it likes."""
    found = {"age_seconds": age_of(table, facts.at), "fresh_within": limit_of(table)}
    return {name: None if span is None else span.total_seconds() for name, span in found.items()}
