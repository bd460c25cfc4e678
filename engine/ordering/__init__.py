"""The order of changes: the chronology of one key, and which snapshot READs still count."""
