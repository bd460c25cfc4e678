"""Runs of the whole engine over streams with faults, and the findings of the checks."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.findings import find
from siltstone.quality.gap_lifecycle import CheckPass
from siltstone.quality.results import Finding, Found
from siltstone.quality.validate import found_by_checks, read_tables
from tests.quality.fault_streams import Event, Stream
from tests.quality.faults import REPEAT, Fault, Faulty

SUMMARIES = ("duplicates", "late_changes", "snapshot_reads", "rejects")
Findings = dict[str, dict[str, Found]]


@dataclass(frozen=True)
class TableFinding:
    """A finding with its table."""

    table: str
    finding: Finding

    @property
    def key(self) -> tuple[str, ...] | None:
        values = None if self.finding.key is None else json.loads(self.finding.key)
        return None if values is None else tuple(str(value) for value in values.values())


def deliver(
    spark: SparkSession, project: ProjectSpec, stream: Stream, batches: Sequence[Sequence[Event]]
) -> list[Findings]:
    """Run each batch as a separate file. Gives the findings of each run, by table."""
    folder = project.root / "events"
    folder.mkdir(parents=True)
    values = [stream.spec(table, str(folder / "*.jsonl"), project.namespace) for table in stream.tables]
    specs = [table_spec(value | {"rejects": {"max_fraction": 1}}, project) for value in values]
    found: list[Findings] = []
    with mock.patch("siltstone.quality.findings.SAMPLE", 100_000):
        for number, batch in enumerate(batches):
            (folder / f"part-{number:03}.jsonl").write_text("".join(event.line for event in batch), encoding="utf-8")
            found.append({})
            report = catch_up(project, specs, spark, checks=collector(found[-1]))
            failed = [(table.table, table.error) for table in report.tables if table.error]
            assert not failed, failed
            for one in report.tables:
                print(f"    {one.table}: checks {one.phases.get('checks', 0):.1f} of {one.seconds:.1f} s", flush=True)
    return found


def collector(into: Findings) -> Any:
    """The checks of a run without Great Expectations: the findings of Spark are kept."""

    def checks(
        spark: SparkSession, project: ProjectSpec, spec: Any, run_id: str, since: int, sums: Any, *_: Any
    ) -> tuple[()]:
        tables = read_tables(spark, project, spec, None, None, since, sums)
        first = CheckPass(find(tables, spec, since, spec.quality.checks), since)
        into[spec.table] = found_by_checks([first], spec, None, sums)
        return ()

    return checks


def places(found: Findings) -> list[TableFinding]:
    """Every finding, except the totals of the checks in SUMMARIES."""
    return [
        TableFinding(table, finding)
        for table, checks in found.items()
        for check, what in checks.items()
        if check not in SUMMARIES
        for finding in what.sample
    ]


def is_of(one: TableFinding, fault: Fault) -> bool:
    """Whether a finding is about the keys, transactions or range of a fault."""
    finding = one.finding
    if finding.check == "incomplete_transaction":
        return finding.tx_id in fault.txs
    if one.key is not None:
        return one.table in fault.tables and one.key in fault.keys
    if fault.span is not None and finding.position_from is not None and finding.position_to is not None:
        return finding.position_from <= fault.span[0] and fault.span[1] <= finding.position_to
    return fault.whole


def is_found(fault: Fault, found: Findings) -> bool:
    """Whether one of the expected checks found the fault."""
    if "duplicates" in fault.checks:
        return all(found[table]["duplicates"].observed > 0 for table in fault.tables)
    return any(one.finding.check in fault.checks and is_of(one, fault) for one in places(found))


@dataclass
class Score:
    """One row of the table: the faults of one kind in one format."""

    injected: int = 0
    detectable: int = 0
    found: int = 0
    findings: int = 0
    false: int = 0
    checks: tuple[str, ...] = ()
    why_not: str | None = None


def scored(faulty: Faulty, found: Sequence[Findings], baseline: Sequence[TableFinding]) -> dict[str, Score]:
    """Compare the faults with the findings, by kind of fault.

    The first run must show every fault except the repeated file. A finding is false if no fault explains it and the
    stream without faults does not have it. It counts against every kind of fault that its check detects.
    """
    known = {(one.table, one.finding) for one in baseline}
    seen = [one for run in found for one in places(run) if (one.table, one.finding) not in known]
    scores: dict[str, Score] = {}
    for fault in faulty.faults:
        score = scores.setdefault(fault.kind, Score(checks=fault.checks))
        score.injected += 1
        score.checks = score.checks or fault.checks
        score.why_not = score.why_not or fault.why_not
        if fault.why_not is None:
            score.detectable += 1
            score.found += any(is_found(fault, run) for run in found[-1 if fault.kind == REPEAT else 0 :][:1])
    for one in seen:
        mine = {fault.kind for fault in faulty.faults if is_of(one, fault)}
        for kind, score in scores.items():
            score.findings += kind in mine
            score.false += not mine and one.finding.check in score.checks
    return scores


def unexplained(faulty: Faulty, found: Sequence[Findings], baseline: Sequence[TableFinding]) -> list[TableFinding]:
    """Findings that no fault explains and that the stream without faults does not have."""
    known = {(one.table, one.finding) for one in baseline}
    return [
        one
        for run in found
        for one in places(run)
        if (one.table, one.finding) not in known and not any(is_of(one, fault) for fault in faulty.faults)
    ]


def a_place(project: ProjectSpec, name: str, root: Path) -> ProjectSpec:
    """A copy of the project with a separate folder and namespace."""
    return replace(project, root=root / name, namespace=f"{project.namespace}_{name}")
