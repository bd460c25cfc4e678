"""The sums of a run: every record read went somewhere, and every change had one outcome."""

from siltstone.quality import catalogue
from siltstone.quality.results import Finding, Found, Sums


def found_in_sums(sums: Sums | None) -> Found:
    """The sums that do not close; not available where the caller has no run's numbers to hand in."""
    if sums is None:
        return Found(unavailable="no run handed in its numbers")
    messages = [text for text in (unaccounted_records(sums), uncounted_outcomes(sums)) if text]
    sample = tuple(Finding(catalogue.SUMS_CLOSE, None, None, None, text) for text in messages)
    return Found(observed=len(sample), sample=sample)


def unaccounted_records(sums: Sums) -> str | None:
    """What is wrong with `read = taken + control + other_table + rejected`."""
    parts = sums.taken + sums.control + sums.other_table + sums.rejected
    if parts == sums.read:
        return None
    return (
        f"{sums.read} records were read, {parts} are accounted for: {sums.taken} taken, {sums.control} control, "
        f"{sums.other_table} of other tables, {sums.rejected} rejected"
    )


def uncounted_outcomes(sums: Sums) -> str | None:
    """What is wrong with `changes = sum of outcomes`."""
    if sums.outcomes == sums.changes:
        return None
    return f"{sums.changes} changes were folded, {sums.outcomes} have an outcome"
