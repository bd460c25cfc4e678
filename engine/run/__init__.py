"""The one place that joins the layers."""

from engine.run.drop import drop
from engine.run.explain import explain
from engine.run.maintain import maintain
from engine.run.plan import plan
from engine.run.rebuild import rebuild
from engine.run.replay import replay
from engine.run.reread import reread
from engine.run.sequence import catch_up
from engine.run.verify import verify

__all__ = ["catch_up", "drop", "explain", "maintain", "plan", "rebuild", "replay", "reread", "verify"]
