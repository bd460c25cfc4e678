"""The report as Markdown, for a chat or a CI log, and as plain values, for a program."""

from dataclasses import asdict
from typing import Any

from siltstone.engine.counts import counted
from siltstone.engine.reader.position_reader import shown_span
from siltstone.quality.report.facts import Facts, TableFacts
from siltstone.quality.report.page import moment, sentence, words
from siltstone.quality.report.troubles import Level, Trouble, age_of, level_of, limit_of, troubles, troubles_of_sources
from siltstone.quality.report.verdict import verdict

MARKS = {Level.BAD: "❌", Level.LOOK: "⚠️", Level.GOOD: "✅", Level.NONE: "·"}
TROUBLES_SHOWN = 12
TABLES_SHOWN = 30


def markdown(facts: Facts) -> str:
    """The verdict, what to do, and a row per table."""
    result = verdict(facts)
    found = [one for table in facts.tables for one in troubles(table, facts.at) if one.level != Level.GOOD]
    found += troubles_of_sources(facts)
    lines = [f"## {MARKS[result.level]} {result.headline}", "", escaped(f"{result.detail} {result.age}".strip()), ""]
    lines += [line_of(one) for one in found[:TROUBLES_SHOWN]]
    if len(found) > TROUBLES_SHOWN:
        lines.append(f"- and {counted(len(found) - TROUBLES_SHOWN, 'more problem')}")
    ran = [table for table in facts.tables if table.runs]
    if ran:
        lines += [
            "",
            "| | table | complete through | sealed up to | last run | changes |",
            "|---|---|---|---|---|---:|",
        ]
    for table in ran[:TABLES_SHOWN]:
        through = moment(table.complete_through) if table.complete_through else "unknown"
        sealed = moment(table.sealed_up_to) if table.sealed_up_to else "none"
        run = table.runs[-1]
        cells = (MARKS[level_of(table, facts.at)], code(table.table), through, sealed, run.status, f"{run.changes:,}")
        lines.append(f"| {' | '.join(cells)} |")
    if len(ran) > TABLES_SHOWN:
        lines.append(f"\nand {counted(len(ran) - TABLES_SHOWN, 'more table')}")
    return "\n".join(lines).strip() + "\n"


def line_of(one: Trouble) -> str:
    """One problem as a list item."""
    keys = ", ".join(map(code, one.keys))
    more = f" and {one.places - len(one.keys)} more" if one.keys and one.places > len(one.keys) else ""
    ends = [code(end) for end in (one.shown_from, one.shown_to) if end is not None]
    span = f" Log range {' to '.join(dict.fromkeys(ends))}." if ends else ""
    with_keys = f" Keys: {keys}{more}." if keys else ""
    do = f" {escaped(sentence(one.do))}" if one.do else ""
    return f"- **{code(one.table)}: {escaped(words(one.what))}.** {escaped(sentence(one.text))}{with_keys}{span}{do}"


def code(text: str) -> str:
    """A name or a value as inline code."""
    return "`" + text.replace("`", "'").replace("\n", " ").replace("|", "\\|") + "`"


def escaped(text: str) -> str:
    """Text with Markdown's and HTML's special characters escaped; backticks stay."""
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
    return "".join(f"\\{sign}" if sign in "|*[]" else sign for sign in shown)


def plain(facts: Facts) -> dict[str, Any]:
    """All that the page shows, as plain values."""
    result = verdict(facts)
    tables = [
        asdict(table)
        | {"level": level_of(table, facts.at).value}
        | ages(table, facts)
        | {"gaps": [asdict(gap) | shown_span(gap, table.notation) for gap in table.gaps]}
        | {"troubles": [asdict(one) for one in troubles(table, facts.at)]}
        for table in facts.tables
    ]
    return {
        "verdict": {
            "level": result.level.value,
            "headline": result.headline,
            "detail": result.detail,
            "age": result.age,
        },
        "project": facts.project,
        "namespace": facts.namespace,
        "at": facts.at,
        "tables": tables,
        "rejects": [asdict(one) for one in facts.rejects],
    }


def ages(table: TableFacts, facts: Facts) -> dict[str, float | None]:
    """The age of a table's data and its limit, in seconds; None: unknown, or no limit."""
    found = {"age_seconds": age_of(table, facts.at), "fresh_within": limit_of(table)}
    return {name: None if span is None else span.total_seconds() for name, span in found.items()}
