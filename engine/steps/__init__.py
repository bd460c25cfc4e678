"""Spark steps between the decoders and `changes`: what needs other rows, or is an expression over typed columns."""
