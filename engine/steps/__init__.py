"""Spark steps between the decoders and `changes`: they need other rows, or are expressions over typed columns."""
