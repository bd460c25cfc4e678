"""The one place that joins the layers."""

from engine.run.sequence import catch_up

__all__ = ["catch_up"]
