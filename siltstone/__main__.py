"""`python -m siltstone` is `siltstone`."""

from siltstone.engine.cli import main

main()
