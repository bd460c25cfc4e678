"""The page: one HTML document with everything in it. Whatever comes from the data is escaped by the template."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files

from siltstone.engine.report import NOT_WELL, NOTHING_NEW
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, Gap, iso
from siltstone.quality.report.facts import CheckFact, Facts, RunFact, TableFacts
from siltstone.quality.report.pictures import OUTCOMES, drawn, duration, is_grave
from siltstone.quality.report.verdict import (
    GRAVITY,
    Level,
    Trouble,
    counted,
    findings,
    in_words,
    level_of,
    troubles,
    troubles_of_sources,
    verdict,
)

TROUBLES_SHOWN = 12
PICTURED = 24  # the page stays small and quick to make, however many tables there are
OPEN_AT_MOST = 4
KNOWN_SHOWN = 10
SAME_YEAR = timedelta(days=300)
TOLD = {Level.BAD: "cannot be trusted", Level.LOOK: "to be looked at", Level.GOOD: "good", Level.NONE: "never ran"}
STATUS_ORDER = ("failed", "acknowledged", "noted", "passed", "not available")
Bar = tuple[str, int, float]
Legend = tuple[tuple[str, str], ...]  # a word and the name of its colour


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
    strip_told: str = ""
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
    checks_told: str = ""


def page(facts: Facts) -> str:
    """The whole page."""
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
        "told": TOLD.__getitem__,
        "slug": lambda text: text.replace(" ", "-").replace("_", "-"),
    }
    views = table_views(facts)
    found = [trouble for view in views for trouble in view.troubles if trouble.level != Level.GOOD]
    found += troubles_of_sources(facts)
    found.sort(key=lambda trouble: GRAVITY[trouble.level])
    return environment.from_string(source("page.html")).render(
        facts=facts,
        verdict=verdict(facts),
        figures=figures(facts),
        troubles=found[:TROUBLES_SHOWN],
        more_troubles=max(len(found) - TROUBLES_SHOWN, 0),
        tables=views,
        anchors={view.facts.table: view.anchor for view in views},
        style=Markup(source("page.css")),  # our own file, no value in it
    )


def source(name: str) -> str:
    """A file beside this one."""
    return (files("siltstone.quality.report") / name).read_text(encoding="utf-8")


def table_views(facts: Facts) -> list[TableView]:
    """The tables, the gravest first; of those alike the ones with the most changes."""
    levels = {table.table: level_of(table, facts.at) for table in facts.tables}
    order = sorted(facts.tables, key=lambda table: (GRAVITY[levels[table.table]], -changes_of(table), table.table))
    to_open = [table.table for table in order if levels[table.table] in (Level.BAD, Level.LOOK)][:OPEN_AT_MOST]
    opened = set(to_open or ([order[0].table] if len(order) == 1 else []))
    pictured = min(len(order), PICTURED)
    return [table_view(table, n, table.table in opened, pictured, facts.at) for n, table in enumerate(order)]


def changes_of(table: TableFacts) -> int:
    """How many changes the runs shown brought."""
    return sum(run.changes for run in table.runs)


def table_view(table: TableFacts, place: int, is_open: bool, pictured: int, now: datetime) -> TableView:
    """One table as the page shows it. `place`: among all tables, of which the first `pictured` have pictures."""
    from markupsafe import Markup

    anchor, level = f"table-{place + 1}", level_of(table, now)
    if level == Level.NONE:
        return TableView(table, anchor, level, (), TOLD[level])
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
        f"The last {len(table.runs)} runs: " + ", ".join(strip_counts(table.runs)),
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
        checks_told(checks),
    )


def marks_of(table: TableFacts) -> Legend:
    """The legend of the picture of the log: what is marked in it."""
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
    """One line on a table: what is wrong, or how fresh it is."""
    grave = [one for one in found if one.level != Level.GOOD]
    if grave:
        more = f", and {len(grave) - 1} more" if len(grave) > 1 else ""
        places = f"{one.places:,} x " if (one := grave[0]).places > 1 else ""
        return f"{places}{words(one.what).lower()}{more}"
    if not table.runs:
        return TOLD[Level.NONE]
    if table.complete_through is None:
        return f"last run {moment(table.runs[-1].at, now)}"
    return f"complete through {moment(table.complete_through, now)}"


def figures(facts: Facts) -> list[tuple[str, str, str]]:
    """The numbers below the verdict: name, value, note."""
    ran = [table for table in facts.tables if table.runs]
    if not ran:
        return []
    last = max(ran, key=lambda table: table.runs[-1].at).runs[-1]
    of_last = [run for table in ran for run in table.runs if run.run_id == last.run_id]
    open_gaps, known = findings(facts.tables, OPEN), findings(facts.tables, ACKNOWLEDGED)
    through = [table.complete_through for table in ran if table.complete_through is not None]
    sealed = [table.sealed_up_to for table in ran]
    whole = [one for one in sealed if one is not None]
    shown = [
        ("Last run", moment(last.at, facts.at), f"{counted(len(of_last), 'table')}, run {last.run_id}"),
        ("Changes in it", number(sum(run.changes for run in of_last)), rejected_words(of_last)),
        ("Open gaps", number(open_gaps), f"{number(known)} acknowledged" if known else ""),
    ]
    if through:
        age = f"{in_words(max(facts.at - min(through), timedelta()))} ago"
        of_all = f"all tables, {age}" if len(ran) > 1 else age
        shown.append(("Complete through", moment(min(through), facts.at), of_all))
        nothing = "nothing is, in some table" if len(ran) > 1 else ""
        least = moment(min(whole), facts.at) if len(whole) == len(sealed) else "nothing"
        shown.append(("Sealed up to", least, "" if len(whole) == len(sealed) else nothing))
    return shown


def rejected_words(runs: Sequence[RunFact]) -> str:
    """How many records could not be decoded."""
    rejected = sum(run.rejected for run in runs)
    return f"{counted(rejected, 'record')} rejected" if rejected else ""


def bars(counts: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    """Counts with the length of their bar in percent."""
    most = max((count for _, count in counts), default=0) or 1
    return tuple((name, count, round(100 * count / most, 1)) for name, count in counts if count)


def kind_of(run: RunFact) -> str:
    """How a run looks in the strip."""
    if run.status in NOT_WELL or run.exit_code:
        return "bad"
    if run.rejected:
        return "look"
    return "idle" if run.status == NOTHING_NEW else "ok"


def strip_word(run: RunFact) -> str:
    """A run in one line."""
    why = ", checks failed" if run.exit_code and run.status not in NOT_WELL else ""
    return f"{moment(run.at)}: {run.status}{why}, {counted(run.changes, 'change')}"


def strip_counts(runs: Sequence[RunFact]) -> list[str]:
    """How many runs of each kind, for those who do not see the strip."""
    told = {"ok": "good", "bad": "failed", "look": "with rejected records", "idle": "with nothing new"}
    kinds = [kind_of(run) for run in runs]
    return [f"{kinds.count(kind)} {word}" for kind, word in told.items() if kind in kinds]


def healed_words(gaps: Sequence[Gap], now: datetime) -> list[str]:
    """The healed gaps, a line a check and run."""
    groups: dict[tuple[str, str | None], list[Gap]] = {}
    for gap in sorted(gaps, key=lambda one: (one.healed_at or one.opened_at, one.check), reverse=True):
        groups.setdefault((gap.check, gap.healed_run), []).append(gap)
    return [
        f"{sum(gap.findings for gap in group):,} x {words(check).lower()}, by run {run}"
        + (f" on {moment(group[0].healed_at, now)}" if group[0].healed_at else "")
        for (check, run), group in list(groups.items())[:KNOWN_SHOWN]
    ]


def checks_told(checks: Sequence[CheckFact]) -> str:
    """How many checks passed, failed and so on."""
    statuses = [check.status for check in checks]
    return ", ".join(f"{statuses.count(status)} {status}" for status in STATUS_ORDER if status in statuses)


def moment(at: datetime, now: datetime | None = None) -> str:
    """A moment as people read it, in UTC; of the months around `now` without the year."""
    near = now is not None and abs(now - at) < SAME_YEAR
    return f"{at.astimezone(UTC):%d %b, %H:%M}" if near else f"{at.astimezone(UTC):%d %b %Y, %H:%M}"


def exactly(at: datetime) -> str:
    """A moment with its seconds."""
    return f"{at.astimezone(UTC):%d %b %Y, %H:%M:%S}"


def number(value: int | None) -> str:
    """A count as people read it."""
    return "-" if value is None else f"{value:,}"


def words(name: str) -> str:
    """The name of a check as a title."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """A message as a sentence."""
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."
