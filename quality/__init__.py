"""Checks on the tables: Spark finds, Great Expectations judges and presents. Importing this imports neither."""

from siltstone.quality.results import FAILED, NOT_AVAILABLE, PASSED, Checked, CheckResult, Sums

__all__ = ["FAILED", "NOT_AVAILABLE", "PASSED", "CheckResult", "Checked", "Sums"]
