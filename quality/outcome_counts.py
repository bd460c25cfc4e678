"""Findings from the outcomes of a run's changes: duplicates, late changes, READs. None of them makes tables wrong."""

from collections.abc import Mapping

from siltstone.engine.counts import counted
from siltstone.quality import catalogue
from siltstone.quality.results import Finding, Found
from siltstone.quality.scope import Late

NO_RUN = Found(unavailable="this check needs the counts of a run")


def found_in_outcomes(numbers: Mapping[str, int] | None) -> dict[str, Found]:
    """Duplicates, and READs that contradict the stream. `numbers`: the run's counts; None without a run."""
    if numbers is None:
        return {catalogue.DUPLICATES: NO_RUN, catalogue.SNAPSHOT_READS: NO_RUN}
    outcomes = {name.removeprefix("outcome:"): n for name, n in numbers.items() if name.startswith("outcome:")}
    return {
        catalogue.DUPLICATES: duplicates(outcomes.get("redelivered", 0), numbers["changes"]),
        catalogue.SNAPSHOT_READS: snapshot_reads(outcomes),
    }


def duplicates(redelivered: int, changes: int) -> Found:
    """How many changes were delivered before, and their rate."""
    rate = redelivered / changes if changes else 0.0
    text = f"{counted(redelivered, 'duplicate')} among {counted(changes, 'change')} ({rate:.1%})"
    numbers = (("redelivered", float(redelivered)), ("rate", rate))
    return one_finding(catalogue.DUPLICATES, redelivered, text, numbers) if redelivered else Found(numbers=numbers)


def snapshot_reads(outcomes: Mapping[str, int]) -> Found:
    """READs that revealed a missed change, and the outcomes of the other READs."""
    healed, names = outcomes.get("healed", 0), ("superseded", "absorbed", "healed")
    numbers = tuple((name, float(outcomes.get(name, 0))) for name in names)
    others = ", ".join(f"{outcomes.get(name, 0):,} {name}" for name in names[:2])
    if healed:
        text = f"{counted(healed, 'READ')} showed a row that no streamed change explains ({others})"
        return one_finding(catalogue.SNAPSHOT_READS, healed, text, numbers)
    return Found(note=f"no READ contradicts the stream ({others})", numbers=numbers)


def found_late(late: Late) -> Found:
    """Changes that are older than the changes of earlier runs: how many, by how much, and those not applied."""
    numbers = (
        *((f"late_by_{name}", float(number)) for name, number in late.by),
        ("half_seconds", late.half),
        ("most_seconds", late.most),
        ("longest_seconds", late.longest),
        ("too_late", float(late.too_late)),
    )
    if not late.changes and not late.too_late:
        return Found(numbers=numbers)
    texts = []
    if late.changes:
        texts.append(late_text(late))
        listed = {"minute": "up to a minute", "hour": "up to an hour", "day": "up to a day", "more": "more than a day"}
        texts += [f"{number:,} by {listed[name]}" for name, number in late.by if number]
    if late.too_late:
        texts.append(f"{counted(late.too_late, 'change')} arrived later than lateness allows: not applied")
    sample = tuple(Finding(catalogue.LATE_CHANGES, None, None, None, text) for text in texts)
    return Found(late.changes + late.too_late, sample=sample, numbers=numbers)


def late_text(late: Late) -> str:
    """How many changes are late, and by how much."""
    if late.changes == 1:
        return f"1 change is older than the changes of earlier runs: by {late.longest:,.1f} s"
    return (
        f"{late.changes:,} changes are older than the changes of earlier runs: half of them by up to"
        f" {late.half:,.1f} s, 95 % by up to {late.most:,.1f} s, the oldest by {late.longest:,.1f} s"
    )


def one_finding(check: str, observed: int, text: str, numbers: tuple[tuple[str, float], ...]) -> Found:
    """A single finding with a message."""
    return Found(observed, sample=(Finding(check, None, None, None, text),), numbers=numbers)
