"""The page: one self-contained HTML document. The template escapes all values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING

from siltstone.engine.counts import counted
from siltstone.engine.report import NOT_WELL, NOTHING_NEW
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, Gap, iso
from siltstone.quality.report.facts import CheckFact, Facts, RunFact, TableFacts
from siltstone.quality.report.pictures import OUTCOMES, drawn, duration, is_grave
from siltstone.quality.report.troubles import (
    GRAVITY,
    Level,
    Trouble,
    counted_places,
    in_words,
    is_unchecked,
    level_of,
    troubles,
    troubles_of_sources,
)
from siltstone.quality.report.verdict import findings, open_findings, verdict

if TYPE_CHECKING:
    from markupsafe import Markup

TROUBLES_SHOWN = 12
PICTURED = 24  # tables with charts: the page stays small with many tables
OPEN_AT_MOST = 4
KNOWN_SHOWN = 10
SAME_YEAR = timedelta(days=300)
LEVEL_WORDS = {
    Level.BAD: "cannot be trusted",
    Level.LOOK: "needs attention",
    Level.GOOD: "good",
    Level.NONE: "never ran",
}
STATUS_ORDER = ("failed", "acknowledged", "noted", "passed", "not available")
Bar = tuple[str, int, float]
Legend = tuple[tuple[str, str], ...]  # a label and the name of its colour


@dataclass(frozen=True, slots=True)
class TableView:
    """One table as the page shows it."""

    facts: TableFacts
    anchor: str
    level: Level
    troubles: tuple[Trouble, ...]
    state: str
    is_open: bool = False
    strip: tuple[tuple[str, str], ...] = ()
    strip_label: str = ""
    last: RunFact | None = None
    last_lag: float | None = None
    known: tuple[Gap, ...] = ()
    healed: tuple[str, ...] = ()
    pictures: dict[str, object] = field(default_factory=dict)
    not_pictured: int = 0
    marks: Legend = ()
    outcomes: tuple[Bar, ...] = ()
    outcomes_at: datetime | None = None
    outcomes_seen: Legend = ()
    late: tuple[Bar, ...] = ()
    checks: tuple[CheckFact, ...] = ()
    checks_summary: str = ""


def page(facts: Facts, days: Sequence[str] = ()) -> str:
    """The whole page. `days`: the days that have a page, newest first, with this one."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "moment": lambda at: moment(at, facts.at),
        "exactly": exactly,
        "whole": moment,
        "iso": iso,
        "number": number,
        "duration": duration,
        "words": words,
        "sentence": sentence,
        "level_words": LEVEL_WORDS.__getitem__,
        "prose": prose,
        "counted": counted,
        "places": counted_places,
        "slug": lambda text: text.replace(" ", "-").replace("_", "-"),
    }
    views = table_views(facts)
    found = [trouble for view in views for trouble in view.troubles if trouble.level != Level.GOOD]
    found += troubles_of_sources(facts)
    found.sort(key=lambda trouble: GRAVITY[trouble.level])
    return environment.from_string(source("page.html")).render(
        facts=facts,
        days=days,
        verdict=verdict(facts),
        figures=figures(facts),
        troubles=found[:TROUBLES_SHOWN],
        more_troubles=max(len(found) - TROUBLES_SHOWN, 0),
        tables=views,
        anchors={view.facts.table: view.anchor for view in views},
        style=Markup(source("page.css")),  # our own file, no value in it
    )


def source(name: str) -> str:
    """A file of this package."""
    return (files("siltstone.quality.report") / name).read_text(encoding="utf-8")


def table_views(facts: Facts) -> list[TableView]:
    """The tables, the worst first; tables of the same level by their number of changes."""
    levels = {table.table: level_of(table, facts.at) for table in facts.tables}
    order = sorted(facts.tables, key=lambda table: (GRAVITY[levels[table.table]], -changes_of(table), table.table))
    to_open = [table.table for table in order if levels[table.table] in (Level.BAD, Level.LOOK)][:OPEN_AT_MOST]
    opened = set(to_open or ([order[0].table] if len(order) == 1 else []))
    pictured = min(len(order), PICTURED)
    return [table_view(table, n, table.table in opened, pictured, facts.at) for n, table in enumerate(order)]


def changes_of(table: TableFacts) -> int:
    """The number of changes in the shown runs."""
    return sum(run.changes for run in table.runs)


def table_view(table: TableFacts, place: int, is_open: bool, pictured: int, now: datetime) -> TableView:
    """One table as the page shows it. `place`: its index among all tables; the first `pictured` have charts."""
    from markupsafe import Markup

    anchor, level = f"table-{place + 1}", level_of(table, now)
    if level == Level.NONE:
        return TableView(table, anchor, level, (), LEVEL_WORDS[level])
    with_changes = next((run for run in reversed(table.runs) if run.outcomes), None)
    draws = drawn(table, anchor) if place < pictured else {}
    checks = sorted(table.checks, key=lambda check: STATUS_ORDER.index(check.status))
    found = troubles(table, now)
    gaps = {status: [gap for gap in table.gaps if gap.status == status] for status in (OPEN, ACKNOWLEDGED, HEALED)}
    return TableView(
        table,
        anchor,
        level,
        found,
        state(table, found, now),
        is_open,
        tuple((kind_of(run), strip_word(run)) for run in table.runs),
        f"The last {counted(len(table.runs), 'run')}: " + ", ".join(strip_counts(table.runs)),
        table.runs[-1] if table.runs else None,
        next((run.lag_seconds for run in reversed(table.runs) if run.lag_seconds is not None), None),
        tuple(gaps[ACKNOWLEDGED][:KNOWN_SHOWN]),
        tuple(healed_words(gaps[HEALED], now)),
        {name: Markup(draws[name]) if name in draws else None for name in ("log", "outcomes", "lag")},
        0 if place < pictured else pictured,
        marks_of(table),
        bars([(name, with_changes.outcomes.get(name, 0)) for name in OUTCOMES]) if with_changes else (),
        with_changes.at if with_changes else None,
        tuple((name, name) for name in OUTCOMES if any(run.outcomes.get(name) for run in table.runs)),
        bars([(late.label, late.changes) for late in table.late]),
        tuple(checks),
        checks_summary(checks),
    )


def marks_of(table: TableFacts) -> Legend:
    """The legend of the chart of the log."""
    shown = [gap for gap in table.gaps if gap.status in (OPEN, ACKNOWLEDGED)]
    kinds = {"acknowledged" if gap.status == ACKNOWLEDGED else "for information" for gap in shown if not is_grave(gap)}
    marks = (
        ("changes", "quiet", True),
        ("snapshot windows", "window", table.log is not None and bool(table.log.windows)),
        ("open gaps", "bad", any(map(is_grave, shown))),
        (" or ".join(sorted(kinds)), "look", bool(kinds)),
    )
    return tuple((word, colour) for word, colour, is_there in marks if is_there)


def state(table: TableFacts, found: Sequence[Trouble], now: datetime) -> str:
    """One line about a table: its first problem, or how fresh it is."""
    problems = [one for one in found if one.level != Level.GOOD]
    if problems:
        first, *others = problems
        places = f" ({counted_places(first)})" if first.places > 1 else ""
        more = f", and {counted(len(others), 'more problem')}" if others else ""
        return f"{words(first.what).lower()}{places}{more}"
    if not table.runs:
        return LEVEL_WORDS[Level.NONE]
    if table.complete_through is None:
        return f"last run {moment(table.runs[-1].at, now)}"
    return f"complete through {moment(table.complete_through, now)}"


def figures(facts: Facts) -> list[tuple[str, str, str]]:
    """The figures below the verdict: name, value, note."""
    ran = [table for table in facts.tables if table.runs]
    if not ran:
        return []
    last = max(ran, key=lambda table: table.runs[-1].at).runs[-1]
    of_last = [run for table in ran for run in table.runs if run.run_id == last.run_id]
    through = [table.complete_through for table in ran if table.complete_through is not None]
    sealed = [table.sealed_up_to for table in ran]
    known_sealed = [one for one in sealed if one is not None]
    unchecked = sum(map(is_unchecked, ran))
    shown = [
        ("Last run", moment(last.at, facts.at), f"{counted(len(of_last), 'table')}, run {last.run_id}"),
        ("Changes in it", number(sum(run.changes for run in of_last)), rejected_words(of_last)),
        open_gaps_figure(facts, unchecked, len(ran)),
    ]
    if through:
        age = f"{in_words(max(facts.at - min(through), timedelta()))} ago"
        of_all = f"all tables, {age}" if len(ran) > 1 else age
        shown.append(("Complete through", moment(min(through), facts.at), of_all))
        if len(known_sealed) == len(sealed):
            shown.append(("Sealed up to", moment(min(known_sealed), facts.at), ""))
        else:
            without = counted(len(sealed) - len(known_sealed), "table")
            shown.append(("Sealed up to", "none", f"none for {without}" if len(ran) > 1 else ""))
    return shown


def open_gaps_figure(facts: Facts, unchecked: int, ran: int) -> tuple[str, str, str]:
    """The number of open gaps; unknown if no table was checked, because no check has searched for gaps."""
    known = findings(facts.tables, ACKNOWLEDGED)
    open_gaps, informative = open_findings(facts.tables)
    if unchecked == ran and not open_gaps + informative:
        return "Open gaps", "unknown", "not checked"
    notes = (
        f"{informative:,} for information" if informative else "",
        f"{known:,} acknowledged" if known else "",
        f"{counted(unchecked, 'table')} not checked" if unchecked else "",
    )
    return "Open gaps", number(open_gaps), ", ".join(filter(None, notes))


def rejected_words(runs: Sequence[RunFact]) -> str:
    """The number of rejected records as text."""
    rejected = sum(run.rejected for run in runs)
    return f"{counted(rejected, 'record')} rejected" if rejected else ""


def bars(counts: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    """The counts with the lengths of their bars in percent."""
    most = max((count for _, count in counts), default=0) or 1
    return tuple((name, count, round(100 * count / most, 1)) for name, count in counts if count)


def kind_of(run: RunFact) -> str:
    """The CSS class of a run in the strip."""
    if run.status in NOT_WELL or run.exit_code:
        return "bad"
    if run.rejected:
        return "look"
    return "idle" if run.status == NOTHING_NEW else "ok"


def strip_word(run: RunFact) -> str:
    """The tooltip of a run in the strip."""
    why = ", checks failed" if run.exit_code and run.status not in NOT_WELL else ""
    return f"{moment(run.at)}: {run.status}{why}, {counted(run.changes, 'change')}"


def strip_counts(runs: Sequence[RunFact]) -> list[str]:
    """The number of runs of each kind, as the text alternative of the strip."""
    texts = {"ok": "good", "bad": "failed", "look": "with rejected records", "idle": "with nothing new"}
    kinds = [kind_of(run) for run in runs]
    return [f"{kinds.count(kind)} {word}" for kind, word in texts.items() if kind in kinds]


def healed_words(gaps: Sequence[Gap], now: datetime) -> list[str]:
    """The healed gaps, one line per check and run."""
    groups: dict[tuple[str, str | None], list[Gap]] = {}
    for gap in sorted(gaps, key=lambda one: (one.healed_at or one.opened_at, one.check), reverse=True):
        groups.setdefault((gap.check, gap.healed_run), []).append(gap)
    return [
        f"{words(check)}: {counted(sum(gap.findings for gap in group), 'gap')}, by run {run}"
        + (f" on {moment(group[0].healed_at, now)}" if group[0].healed_at else "")
        for (check, run), group in list(groups.items())[:KNOWN_SHOWN]
    ]


def checks_summary(checks: Sequence[CheckFact]) -> str:
    """The number of checks of each status."""
    statuses = [check.status for check in checks]
    return ", ".join(f"{statuses.count(status)} {status}" for status in STATUS_ORDER if status in statuses)


def moment(at: datetime, now: datetime | None = None) -> str:
    """A time in UTC; without the year if it is close to `now`."""
    near = now is not None and abs(now - at) < SAME_YEAR
    return f"{at.astimezone(UTC):%d %b, %H:%M}" if near else f"{at.astimezone(UTC):%d %b %Y, %H:%M}"


def exactly(at: datetime) -> str:
    """A time with seconds."""
    return f"{at.astimezone(UTC):%d %b %Y, %H:%M:%S}"


def number(value: int | None) -> str:
    """A count with thousands separators."""
    return "-" if value is None else f"{value:,}"


def words(name: str) -> str:
    """The name of a check as a title."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """A message as a sentence."""
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."


def prose(text: str) -> "Markup":
    """Text as HTML: escaped, with text between backticks as <code>."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # escaped first
