"""`python -m engine.cli` is `siltstone`."""

from engine.cli import main

main()
