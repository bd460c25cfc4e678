"""How many cases the property tests draw, and from which seed: the environment says it.

`SILTSTONE_PROPERTY=full` draws thousands (`make property`); without it, as many as a test run has time for.
"""

import os

FULL = os.environ.get("SILTSTONE_PROPERTY") == "full"
SEED = int(os.environ.get("SILTSTONE_PROPERTY_SEED", "1"))

DRAWN = 1_000 if FULL else 120  # histories of Hypothesis, under each of two rule sets
SIMULATED = 2_000 if FULL else 150  # stories of the simulated database
DRIFTING = 1_000 if FULL else 80  # stories that end with a lost change and a READ
KEYLESS = 1_000 if FULL else 150  # multisets
SPLITS = (2, 8) if FULL else (3,)  # into so many batches
BATCHED = (40, 20)  # stories, and drifting ones, of each kind that are folded batch by batch
