"""Inject a few hundred faults into the recorded streams, count which ones the checks find, and write the table.

    python -m tests.quality.fault_table [--only mariadb,canal] [--seed 7] [--number 40] [--keep FOLDER]

Each format runs alone: without faults, with many single faults, and with each of its large faults. The results are
stored in `FOLDER/<format>.json` after each run, and a stored run is not repeated. The table (`FAULTS.md`) is written
from all stored results.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine.counts import counted
from siltstone.engine.session import spark_session
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, QualitySpec, SparkSpec
from siltstone.quality.results import Finding
from tests.conftest import TEST_CONF
from tests.quality.fault_runs import TableFinding, a_place, deliver, places, scored, unexplained
from tests.quality.fault_streams import STREAMS, Stream
from tests.quality.faults import BULK, Faulty, losses, singles
from tests.recordings import DATA

HERE = Path(__file__).parent
PAGE = HERE / "FAULTS.md"


def run_format(
    spark: SparkSession, project: ProjectSpec, stream: Stream, given: argparse.Namespace, root: Path
) -> None:
    """The results of one format: its findings without faults, the scores by fault, the unexplained findings.

    Each variant is stored in a file when it is done, and is not repeated.
    """
    file = given.keep / f"{stream.name}.json"
    result: dict[str, Any] = {"format": stream.name, "done": [], "scores": {}, "strange": []}
    if file.is_file():
        result = json.loads(file.read_text())
    variants: list[tuple[str, Callable[[], Faulty]]] = [("whole", lambda: Faulty([list(stream.events)]))]
    variants += [(f"singles_{given.seed}_{given.number}", lambda: singles(stream, given.seed, given.number))]
    if any(event.tx is not None for event in stream.events):
        variants += [(f"losses_{given.seed}_{given.number}", lambda: losses(stream, given.seed, given.number // 2))]
    variants += [(put.__name__, partial(put, stream, given.seed)) for put in BULK[stream.name]]
    for name, put in variants:
        if name in result["done"]:
            continue
        began, faulty = time.monotonic(), put()
        found = deliver(spark, a_place(project, f"{stream.name}_{name}", root), stream, faulty.batches)
        if name == "whole":
            result["baseline"] = [asdict(one) for run in found for one in places(run)]
        baseline = [finding_of(values) for values in result["baseline"]]
        result["scores"] |= {kind: asdict(score) for kind, score in scored(faulty, found, baseline).items()}
        left = baseline if name == "whole" else unexplained(faulty, found, baseline)
        print_progress(stream.name, name, time.monotonic() - began, left)
        result["strange"] += [] if name == "whole" else [text_of(one) for one in left]
        result["done"].append(name)
        file.write_text(json.dumps(result, indent=1), encoding="utf-8")


def finding_of(values: dict[str, Any]) -> TableFinding:
    """A finding from the stored values."""
    finding = values["finding"]
    return TableFinding(values["table"], Finding(**finding | {"columns": tuple(finding["columns"])}))


def print_progress(stream: str, variant: str, seconds: float, findings: Sequence[TableFinding]) -> None:
    print(f"{stream} {variant}: {seconds:.0f} s, {len(findings)} findings not explained", flush=True)
    for one in random.Random(1).sample(list(findings), min(5, len(findings))):
        print("   ", text_of(one)[:300], flush=True)


def text_of(one: TableFinding) -> str:
    finding = one.finding
    return f"{one.table} {finding.check} {finding.key or ''} {finding.tx_id or ''}: {finding.message}"


def table(results: Iterable[dict[str, Any]]) -> str:
    """Precision and recall by format and fault."""
    lines = [
        "| format | fault | injected | detectable | found | recall | precision | by |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for result in results:
        for kind, score in result["scores"].items():
            recall = f"{score['found'] / score['detectable']:.0%}" if score["detectable"] else "-"
            every = score["findings"] + score["false"]
            precision = f"{score['findings'] / every:.0%}" if every else "-"
            by = ", ".join(f"`{check}`" for check in score["checks"]) or score["why_not"] or ""
            numbers = f"{score['injected']} | {score['detectable']} | {score['found']} | {recall} | {precision}"
            lines.append(f"| {result['format']} | {kind} | {numbers} | {by} |")
    return "\n".join(lines) + "\n"


def page(results: Sequence[dict[str, Any]]) -> str:
    """The page: the table, the undetectable faults with the reasons, the findings without faults."""
    injected = sum(score["injected"] for result in results for score in result["scores"].values())
    parts = [
        "# Faults injected into recorded streams\n\nWritten by `make faults`. "
        f"{injected} faults. *Detectable*: the remaining events show the fault; *found*: by a check that is "
        "expected to, on the right key, transaction or range; *precision*: the part of all findings that belong to a "
        "fault.\n\n"
        "The recordings last less than a minute: `quality.grace` is 3 s, `snapshot.margin` 1 s. Spanner's stream is "
        "its recorded history, repeated with other keys, later times and three partitions; SharePlex's is written in "
        "the documented shape.\n",
        table(results),
        "## Not detectable\n",
        *[
            f"- {result['format']}, {kind}: {score['injected'] - score['detectable']} of {score['injected']}:"
            f" {score['why_not']}"
            for result in results
            for kind, score in result["scores"].items()
            if score["why_not"]
        ],
        "\n## The streams without faults\n",
    ]
    for result in results:
        found = result["baseline"]
        parts.append(f"- {result['format']}: {counted(len(found), 'finding')}{':' if found else ''}")
        parts += [f"  - `{text_of(finding_of(values))[:200]}`" for values in found[:10]]
    return "\n".join(parts) + "\n"


def written(keep: Path) -> None:
    """Write the page."""
    results = [json.loads((keep / f"{name}.json").read_text()) for name in STREAMS if (keep / f"{name}.json").is_file()]
    PAGE.write_text(page(results), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(STREAMS))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "siltstone-faults")
    given = parser.parse_args(arguments)
    if not DATA.is_dir():
        raise SystemExit(f"the recordings are not there: {DATA}")
    given.keep.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="siltstone-faults-"))
    catalog = CatalogSpec("lake", "jdbc", f"jdbc:sqlite:{root}/catalog.db", f"file://{root}/warehouse")
    project = ProjectSpec(root, None, catalog, "faults", SparkSpec("local[2]", TEST_CONF), QualitySpec("warn"))
    spark = spark_session(project)
    try:
        for name in given.only.split(","):
            run_format(spark, project, STREAMS[name](), given, root)
    finally:
        spark.stop()
        shutil.rmtree(root, ignore_errors=True)
    written(given.keep)


if __name__ == "__main__":
    main()
