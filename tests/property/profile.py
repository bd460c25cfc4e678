"""How many cases the property tests draw, and from which seed. The environment sets both.

`SILTSTONE_PROPERTY=full` draws thousands of cases (`make property`). The default fits into a test run.
"""

import os

FULL = os.environ.get("SILTSTONE_PROPERTY") == "full"
SEED = int(os.environ.get("SILTSTONE_PROPERTY_SEED", "1"))

DRAWN = 1_000 if FULL else 120  # histories drawn by Hypothesis, for each of two rule sets
SIMULATED = 2_000 if FULL else 150  # simulations of a database
DRIFTING = 1_000 if FULL else 80  # simulations that end with a lost change and a READ
KEYLESS = 1_000 if FULL else 150  # multisets
SPLITS = (2, 8) if FULL else (3,)  # numbers of batches
BATCHED = (40, 20)  # simulations, and drifting simulations, of each kind that are folded batch by batch
