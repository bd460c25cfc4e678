"""Runs from Python and by jobs include the checks, unless they are switched off."""

from collections.abc import Callable
from typing import Any

import pytest

import siltstone
from siltstone.engine import run
from siltstone.engine.report import RunReport
from siltstone.engine.spec import load_project
from siltstone.jobs import catch_up, rebuild
from siltstone.quality import runs
from siltstone.quality.validate import checks_of_run

REPORT = RunReport("run", "2026-01-01", 1.0, (), (), 0)


@pytest.mark.parametrize("name", ["catch_up", "rebuild", "reread", "replay"])
def test_every_run_checks_unless_checks_are_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def called(*arguments: Any) -> RunReport:
        given.append([one for one in arguments if one is checks_of_run])
        return REPORT

    monkeypatch.setattr(run, name, called)
    public: Callable[..., RunReport] = getattr(siltstone, name)
    assert public is getattr(runs, name)
    public(load_project(), [], None)
    public(load_project(), [], None, checks=None)
    assert given == [[checks_of_run], []]


def test_the_jobs_call_the_runs_with_checks() -> None:
    assert catch_up.catch_up is runs.catch_up
    assert (rebuild.rebuild, rebuild.reread) == (runs.rebuild, runs.reread)
