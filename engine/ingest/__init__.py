"""From a source to `changes`: which records are new, how they decode, and their rows in one commit per table."""
