"""Charts as inline SVG, drawn by matplotlib in placeholder colours that are replaced by the page's CSS variables."""

import io
import logging
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from siltstone.engine.counts import counted
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, OPEN, Gap
from siltstone.quality.report.facts import LogFact, RunFact, TableFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In stacking order; the page's legend has the same order.
OUTCOMES: Final = ("opened", "healed", "updated", "absorbed", "superseded", "redelivered")
INK, LINE, LAG, WINDOW, GAP, KNOWN, CHANGES = (f"#00010{number}" for number in range(7))
STAND_INS: Final = {name: f"#0002{number:02d}" for number, name in enumerate(OUTCOMES)}
VARIABLES: Final = {
    INK: "var(--faint)",
    LINE: "var(--line)",
    LAG: "var(--accent)",
    WINDOW: "var(--window)",
    GAP: "var(--bad)",
    KNOWN: "var(--look)",
    CHANGES: "var(--quiet)",
} | {stand_in: f"var(--{name})" for name, stand_in in STAND_INS.items()}
Box = tuple[float, float, float, float]
WIDTH, HEIGHT = 5.0, 1.75  # inches: 360 points, so that text is readable on a phone
SIZE = 11.0
DAY: Final = 86_400
YEAR: Final = 365 * DAY
UNITS: Final = ((YEAR, "y"), (DAY, "d"), (3_600, "h"), (60, "min"), (1, "s"))
# Sources that are ordered by numbers can have changes that are decades old. Every age is close to one of these.
ROUND: Final = (
    *(1, 10, 60, 600, 3_600, 6 * 3_600, DAY, 7 * DAY, 30 * DAY),
    *(YEAR, 10 * YEAR, 100 * YEAR, 1_000 * YEAR),
)
MOST_TICKS: Final = 8  # this many labels fit on the axis


def outcomes_by_run(runs: Sequence[RunFact], name: str) -> str | None:
    """A bar per run: its changes by outcome. None if no run has changes."""
    if not any(run.outcomes for run in runs):
        return None
    figure, axes = blank()
    bottoms = [0.0] * len(runs)
    for outcome in OUTCOMES:
        heights = [float(run.outcomes.get(outcome, 0)) for run in runs]
        boxes = [
            (x - 0.4, bottom, 0.8, height)
            for x, (bottom, height) in enumerate(zip(bottoms, heights, strict=True))
            if height
        ]
        rectangles(axes, boxes, STAND_INS[outcome])
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    top = max(bottoms) or 1.0
    axes.set_ylim(0, top * 1.08)
    axes.set_yticks([0, top], ["0", short(top)])
    mark_runs(axes, runs)
    return svg(figure, f"Changes of the last {counted(len(runs), 'run')} by outcome", name)


def lag_over_time(runs: Sequence[RunFact], name: str) -> str | None:
    """The age of the newest change when each run took it. None if no run took one."""
    points = [(x, max(run.lag_seconds, 1.0)) for x, run in enumerate(runs) if run.lag_seconds is not None]
    if not points:
        return None
    figure, axes = blank()
    xs, ys = zip(*points, strict=True)
    axes.set_yscale("log")
    axes.minorticks_off()
    low, high = min(ys), max(ys)
    ticks = [tick for tick in ROUND if low / 12 <= tick <= high * 12]
    ticks = ticks[:: -(-len(ticks) // MOST_TICKS)]
    axes.set_ylim(min(ticks[0], low) / 1.5, max(ticks[-1], high) * 1.5)
    axes.set_yticks(ticks, [duration(tick) for tick in ticks])
    axes.hlines(ticks, -0.6, len(runs) - 0.4, color=LINE, linewidth=0.6)
    axes.plot(xs, ys, color=LAG, linewidth=1.6, marker="o", markersize=3.2, clip_on=False, solid_capstyle="round")
    mark_runs(axes, runs)
    return svg(figure, f"Age of the newest change in the last {counted(len(runs), 'run')}", name)


def where_in_the_log(table: TableFacts, name: str) -> str | None:
    """Changes by commit time, with snapshot windows and gaps. None if there are no windows and no gaps."""
    gaps = [gap for gap in table.gaps if gap.status in (OPEN, ACKNOWLEDGED) and span_of(gap)]
    if table.log is None or not (gaps or table.log.windows):
        return None
    log, (figure, axes) = table.log, blank()
    width = (log.ends - log.begins).total_seconds() or 1.0
    top = float(max(log.counts, default=0)) or 1.0
    step = width / max(len(log.counts), 1)
    rectangles(axes, [(n * step, 0.0, step * 0.9, float(c)) for n, c in enumerate(log.counts) if c], CHANGES)
    least = width / 150
    rectangles(axes, [(*window, top * 1.06, top * 0.08) for window in windows_of(log, least)], WINDOW, upright=False)
    for grave, colour in ((False, KNOWN), (True, GAP)):
        spans = [place(span_of(gap), log, least) for gap in gaps if is_grave(gap) == grave]
        rectangles(axes, [(begin, wide, top * 1.22, top * 0.12) for begin, wide in spans], colour, upright=False)
        rectangles(axes, [(begin, 0.0, wide, top * 1.22) for begin, wide in spans], colour, alpha=0.14)
    axes.set_xlim(0, width)
    axes.set_ylim(0, top * 1.36)
    axes.set_yticks([0, top], ["0", short(top)])
    axes.set_xticks([0, width], [moment(log.begins, width), moment(log.ends, width)])
    align_ends(axes)
    return svg(figure, "Changes by commit time, with snapshot windows and gaps", name)


def is_grave(gap: Gap) -> bool:
    """Whether a gap is drawn as a fault: it is open and its severity is not info."""
    return gap.status == OPEN and gap.severity != "info"


def blank() -> "tuple[Figure, Axes]":
    """An empty chart with a base line."""
    # matplotlib logs a message when it lists fonts for the first time.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "siltstone", "font.size": SIZE})
    figure = Figure(figsize=(WIDTH, HEIGHT))
    axes = figure.add_axes((0.13, 0.175, 0.855, 0.785))
    figure.patch.set_visible(False)
    axes.patch.set_visible(False)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(LINE)
    axes.tick_params(length=0, colors=INK, labelsize=SIZE, pad=4)
    return figure, axes


def rectangles(
    axes: "Axes",
    boxes: Sequence[Box],
    colour: str,
    alpha: float = 1.0,
    upright: bool = True,
) -> None:
    """Filled boxes as one shape: (x, y, width, height), or (x, width, y, height) if not `upright`."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners: list[tuple[float, float]] = []
    for box in boxes:
        x, y, width, height = box if upright else (box[0], box[2], box[1], box[3])
        corners += [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(boxes)
    if corners:
        axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, linewidth=0, alpha=alpha, clip_on=False))


def mark_runs(axes: "Axes", runs: Sequence[RunFact]) -> None:
    """Label the first and the last run."""
    axes.set_xlim(-0.6, max(len(runs) - 0.4, 7.4))
    ends = sorted({0, len(runs) - 1})
    axes.set_xticks(ends, [f"{runs[n].at:%d %b %H:%M}" for n in ends])
    if len(runs) > 7:
        align_ends(axes)


def align_ends(axes: "Axes") -> None:
    """Align the outer labels with the edges of the chart."""
    first, *_, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")


def span_of(gap: Gap) -> tuple[datetime, datetime] | None:
    """The commit times at which a gap begins and ends."""
    ends = [end for end in (gap.committed_from, gap.committed_to) if end is not None]
    return (min(ends), max(ends)) if ends else None


def windows_of(log: LogFact, least: float) -> list[tuple[float, float]]:
    """The snapshot windows as (begin, width) in seconds; an open one ends where the chart ends."""
    return [place((window.opened, window.closed or log.ends), log, least) for window in log.windows]


def place(span: tuple[datetime, datetime] | None, log: LogFact, least: float) -> tuple[float, float]:
    """A span as (begin, width) in seconds within the chart, at least `least` wide."""
    assert span is not None
    whole = (log.ends - log.begins).total_seconds() or 1.0
    begin, end = (min(max((each - log.begins).total_seconds(), 0.0), whole) for each in span)
    wide = max(end - begin, least)
    return min(begin, whole - wide), wide


def svg(figure: "Figure", label: str, name: str) -> str:
    """The chart as part of a page: with the page's colours and font, and with unique ids."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = written.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{label}">', text)
    text = own_ids(text, name)
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", text)
    text = re.sub(r"(\.\d)\d+", r"\1", re.sub(r"\s*\n\s*", " ", text))
    return re.sub(r"#000[12]\d\d", lambda found: VARIABLES[found.group()], text)


def own_ids(text: str, name: str) -> str:
    """Prefix the ids that are used with the name of the chart, and remove the others."""
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    return re.sub(r'(href="|url\()#', rf"\1#{name}-", text)


def duration(seconds: float) -> str:
    """A duration in its greatest unit."""
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return "0 s"


def short(number: float) -> str:
    """A count in few characters."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size * 10:
            return f"{number / size:.0f}{unit}"
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + unit
    return f"{number:.0f}"


def moment(at: datetime, width_seconds: float) -> str:
    """A time with the precision that the width of the chart needs."""
    form = "%d %b %Y" if width_seconds > 60 * 86_400 else "%d %b %H:%M" if width_seconds > 3_600 else "%d %b %H:%M:%S"
    return at.astimezone(UTC).strftime(form)


def drawn(table: TableFacts, anchor: str) -> dict[str, str]:
    """All charts of a table by name, without empty ones. `anchor`: the id of the table on the page."""
    made = {
        "log": where_in_the_log(table, f"{anchor}-log"),
        "outcomes": outcomes_by_run(table.runs, f"{anchor}-outcomes"),
        "lag": lag_over_time(table.runs, f"{anchor}-lag"),
    }
    return {name: picture for name, picture in made.items() if picture is not None}
