"""The commands: the only package that joins the layers."""

from siltstone.engine.run.catch_up import catch_up
from siltstone.engine.run.drop import drop
from siltstone.engine.run.explain import explain
from siltstone.engine.run.maintain import maintain
from siltstone.engine.run.plan import plan
from siltstone.engine.run.rebuild import rebuild
from siltstone.engine.run.replay import replay
from siltstone.engine.run.reread import reread
from siltstone.engine.run.verify import verify

__all__ = ["catch_up", "drop", "explain", "maintain", "plan", "rebuild", "replay", "reread", "verify"]
