"""What became of the run's changes, as far as a person wants to know it although the tables are right."""

from collections.abc import Mapping

from siltstone.quality import catalogue
from siltstone.quality.results import Finding, Found
from siltstone.quality.scope import Late

NO_RUN = Found(unavailable="no run handed in its numbers")


def found_in_outcomes(numbers: Mapping[str, int] | None) -> dict[str, Found]:
    """Deliveries that repeat others, and READs that contradict the stream. `numbers`: the run's, None without a run."""
    if numbers is None:
        return {catalogue.DUPLICATES: NO_RUN, catalogue.SNAPSHOT_READS: NO_RUN}
    outcomes = {name.removeprefix("outcome:"): n for name, n in numbers.items() if name.startswith("outcome:")}
    return {
        catalogue.DUPLICATES: duplicates(outcomes.get("redelivered", 0), numbers["changes"]),
        catalogue.SNAPSHOT_READS: snapshot_reads(outcomes),
    }


def duplicates(again: int, changes: int) -> Found:
    """How many changes had come before, and their rate."""
    rate = again / changes if changes else 0.0
    text = f"{again} of {changes} changes ({rate:.1%}) had been delivered before"
    numbers = (("redelivered", float(again)), ("rate", rate))
    return told(catalogue.DUPLICATES, again, text, numbers) if again else Found(numbers=numbers)


def snapshot_reads(outcomes: Mapping[str, int]) -> Found:
    """READs that showed a change the stream had missed; beside them, what became of the others."""
    healed, names = outcomes.get("healed", 0), ("superseded", "absorbed", "healed")
    numbers = tuple((name, float(outcomes.get(name, 0))) for name in names)
    others = ", ".join(f"{outcomes.get(name, 0)} {name}" for name in names[:2])
    if healed:
        text = f"{healed} READs showed a row that no streamed change had made ({others})"
        return told(catalogue.SNAPSHOT_READS, healed, text, numbers)
    return Found(note=f"no READ contradicted the stream ({others})", numbers=numbers)


def found_late(late: Late) -> Found:
    """Changes that are older than what earlier runs brought: how many, by how much, and those not applied."""
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
        texts.append(
            f"{late.changes} changes are older than what earlier runs brought: half of them by up to {late.half:,.1f}"
            f" s, 95 % by up to {late.most:,.1f} s, one by {late.longest:,.1f} s"
        )
        listed = {"minute": "up to a minute", "hour": "up to an hour", "day": "up to a day", "more": "more than a day"}
        texts += [f"{number} by {listed[name]}" for name, number in late.by if number]
    if late.too_late:
        texts.append(f"{late.too_late} changes came later than lateness allows, and were not applied")
    sample = tuple(Finding(catalogue.LATE_CHANGES, None, None, None, text) for text in texts)
    return Found(late.changes + late.too_late, sample=sample, numbers=numbers)


def told(check: str, observed: int, text: str, numbers: tuple[tuple[str, float], ...]) -> Found:
    """One finding in words."""
    return Found(observed, sample=(Finding(check, None, None, None, text),), numbers=numbers)
