"""Facts of a realistic report, generated from a seed: good tables, tables with gaps, failed tables."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, Gap
from siltstone.engine.spec.check_names import CHECK_SEVERITY
from siltstone.quality.catalogue import CHECKS
from siltstone.quality.report.facts import (
    CheckFact,
    Facts,
    LateFact,
    LogFact,
    RunFact,
    SchemaChange,
    TableFacts,
    WindowFact,
)
from siltstone.quality.report.pictures import OUTCOMES

NOW = datetime(2026, 3, 14, 6, 12, 5, tzinfo=UTC)
NAMES = ("customers", "orders", "payments", "shipments", "returns", "prices", "stock_movements", "loyalty_points")


def facts(tables: Sequence[TableFacts], docs: bool = True) -> Facts:
    return Facts("webshop", "silt", NOW, tuple(tables), docs)


def good(number: int = 0, runs: int = 30) -> TableFacts:
    """A table that took changes in most of its runs and passed its checks."""
    random = Random(number)
    done = tuple(run(random, runs - night) for night in range(runs))
    last = done[-1].at
    begins = last - timedelta(hours=20)
    counts = tuple(int(200 + 160 * random.random() + (300 if 20 < part < 40 else 0)) for part in range(72))
    return TableFacts(
        table=f"shop.{NAMES[number % len(NAMES)]}" + (f"_{number // len(NAMES)}" if number >= len(NAMES) else ""),
        latest="lake.shop",
        rows=random.randrange(10_000, 4_000_000),
        versions=random.randrange(4_000_000, 9_000_000),
        changes=random.randrange(9_000_000, 20_000_000),
        complete_through=last - timedelta(minutes=random.randrange(2, 40)),
        complete_through_by="transaction end",
        sealed_up_to=last - timedelta(minutes=41),
        runs=done,
        checks=tuple(checked(check, "passed") for check in CHECKS),
        late=(LateFact("up to a minute", 812), LateFact("up to an hour", 96), LateFact("up to a day", 4)),
        log=LogFact(begins, last, counts),
    )


def run(random: Random, nights_ago: int) -> RunFact:
    at = NOW - timedelta(days=nights_ago - 1, hours=2, minutes=random.randrange(20))
    run_id = f"{nights_ago:02d}c4e1f0a7b3d596"
    if nights_ago % 7 == 3:
        return RunFact(run_id, at, 4.0, "nothing new", 90 - nights_ago)
    counts = [random.randrange(9_000, 15_000), random.randrange(40), random.randrange(900), random.randrange(2_500)]
    outcomes = dict(zip(("opened", "healed", "updated", "absorbed"), counts, strict=True))
    outcomes |= {"superseded": random.randrange(300), "redelivered": random.randrange(700)}
    assert set(outcomes) == set(OUTCOMES)
    seconds, lag = 60 + 60 * random.random(), 90 + 1800 * random.random() ** 3
    total = sum(outcomes.values())
    return RunFact(run_id, at, seconds, "ok", 90 - nights_ago, total, 0, outcomes, None, 0, lag)


def checked(check: str, status: str, message: str = "nothing found", observed: int = 0) -> CheckFact:
    hint = CHECKS[check].hint if status == "failed" else None
    return CheckFact(check, CHECK_SEVERITY[check], status, observed, message, NOW - timedelta(hours=2), hint=hint)


def gap(
    table: str,
    number: int,
    check: str = "chain_break",
    status: str = OPEN,
    message: str | None = None,
    findings: int = 1,
) -> Gap:
    begins = NOW - timedelta(hours=14, minutes=-7 * number)
    opened, low = NOW - timedelta(days=2 + number % 2, hours=2), 0x16B374D848 + 977 * number
    made = Gap(
        f"{number:04x}9be1{check[:4]}",
        table,
        check,
        CHECK_SEVERITY[check],
        status,
        f'{{"id":{3080 + number}}}' if check != "open_window" else None,
        f"0000-00000016B374D848-{low:016X}",
        f"0000-00000016B374D848-{low + 4000:016X}",
        message or "the before image of the update differs from the version before it in balance, tier",
        88,
        "02c4e1f0a7b3d596",
        opened,
        "01c4e1f0a7b3d596",
        NOW - timedelta(hours=2),
        begins,
        begins + timedelta(minutes=34),
        CHECKS[check].hint,
        findings,
    )
    if status == ACKNOWLEDGED:
        reason = "the log of that hour was lost in the migration"
        known = {"acknowledged_by": "hanna", "acknowledged_reason": reason, "acknowledged_at": NOW - timedelta(days=1)}
        return replace(made, **known)
    healed = {"healed_run": "01c4e1f0a7b3d596", "healed_at": NOW - timedelta(hours=2)}
    return replace(made, **healed) if status == HEALED else made


def with_gaps(number: int = 1) -> TableFacts:
    """A table with missing changes: open, acknowledged and healed gaps, and snapshot windows."""
    table = good(number)
    gaps = [gap(table.table, n) for n in range(14)] + [gap(table.table, 60, "open_window")]
    gaps += [gap(table.table, 40, status=ACKNOWLEDGED), gap(table.table, 41, status=HEALED)]
    failed = {"chain_break": (14, "failed"), "open_window": (1, "failed")}
    checks = tuple(
        checked(one.check, failed[one.check][1], "the before image differs, and 13 more", failed[one.check][0])
        if one.check in failed
        else replace(one, status="not available", message="no channel")
        if one.check == "positions_backwards"
        else one
        for one in table.checks
    )
    *before, last = table.runs
    assert table.log is not None
    windows = (WindowFact(NOW - timedelta(hours=9), NOW - timedelta(hours=8)), WindowFact(NOW - timedelta(hours=3)))
    changes = (
        SchemaChange(NOW - timedelta(days=9), ("tier string", "loyalty int")),
        SchemaChange(NOW - timedelta(days=3), (), ("amount decimal(10, 2) → decimal(12, 2)",)),
    )
    return replace(
        table,
        runs=(*before[:-1], replace(before[-1], exit_code=5), replace(last, exit_code=5, rejected=3)),
        sealed_up_to=gaps[0].committed_from,
        gaps=tuple(gaps),
        checks=checks,
        schema_changes=changes,
        log=replace(table.log, windows=windows),
    )


def failed(number: int = 2) -> TableFacts:
    """A table whose last run failed."""
    table = good(number)
    *before, last = table.runs
    error = (
        "Cannot take the batch for shop.payments: 812 of 10,204 records cannot be decoded, more than"
        " rejects.max_fraction 0.01 allows (812 x value of column amount is no decimal(12,2))."
        " Hint: fix the spec, or raise rejects.max_fraction"
    )
    done = RunFact(last.run_id, last.at, 12.0, "failed", None, 0, 0, {}, error, 3)
    return replace(table, runs=(*before, done))
