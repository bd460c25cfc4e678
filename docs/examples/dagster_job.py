"""Dagster: `siltstone catch-up` each hour as an asset. Exit codes 6 and 75 are retried, all others fail at once."""

import subprocess
from pathlib import Path

import dagster as dg

PROJECT = Path("/srv/lake")
REPORT = PROJECT / "report" / "index.html"
RETRIED = (6, 75)


@dg.asset
def siltstone_tables() -> dg.MaterializeResult:
    """The latest and history tables that siltstone writes."""
    code = subprocess.run([PROJECT / ".venv/bin/siltstone", "catch-up", "--wait", "1800"], cwd=PROJECT).returncode
    if code in RETRIED or code < 0:  # below 0: killed by a signal
        raise dg.RetryRequested(max_retries=3, seconds_to_wait=300)
    report = dg.MetadataValue.path(str(REPORT))
    if code:
        raise dg.Failure(f"siltstone ended with exit code {code}", metadata={"report": report}, allow_retries=False)
    return dg.MaterializeResult(metadata={"report": report})


catch_up = dg.define_asset_job("catch_up", selection=[siltstone_tables])
defs = dg.Definitions(
    assets=[siltstone_tables],
    jobs=[catch_up],
    schedules=[dg.ScheduleDefinition(job=catch_up, cron_schedule="0 * * * *")],
)
