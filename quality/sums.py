"""The sums of a run: every record that was read is accounted for, and every change has one outcome."""

from siltstone.engine.counts import counted
from siltstone.quality import catalogue
from siltstone.quality.results import Finding, Found, Sums


def found_in_sums(sums: Sums | None) -> Found:
    """The sums that do not close; not available without the numbers of a run."""
    if sums is None:
        return Found(unavailable="this check needs the counts of a run")
    messages = [text for text in (unaccounted_records(sums), uncounted_outcomes(sums)) if text]
    sample = tuple(Finding(catalogue.SUMS_CLOSE, None, None, None, text) for text in messages)
    return Found(observed=len(sample), sample=sample)


def unaccounted_records(sums: Sums) -> str | None:
    """The message if `read = taken + control + other_table + rejected` does not hold."""
    parts = sums.taken + sums.control + sums.other_table + sums.rejected
    if parts == sums.read:
        return None
    records = counted(sums.read, "record")
    return (
        f"{records} read, {parts:,} accounted for: {sums.taken:,} taken, {sums.control:,} control, "
        f"{sums.other_table:,} of other tables, {sums.rejected:,} rejected"
    )


def uncounted_outcomes(sums: Sums) -> str | None:
    """The message if `changes = sum of outcomes` does not hold."""
    if sums.outcomes == sums.changes:
        return None
    return f"{counted(sums.changes, 'change')} folded, {sums.outcomes:,} with an outcome"
