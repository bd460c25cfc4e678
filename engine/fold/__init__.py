"""Fold new changes into `history` and `latest`: one table at a time, each published in one step."""
