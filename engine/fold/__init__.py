"""From `changes` to `history` and `latest`: what is not folded yet, one table at a time, each in one published step."""
