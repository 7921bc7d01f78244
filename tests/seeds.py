"""Where chance begins in the slow tests: at the date, so that every day tries other cases, or at SEED to repeat one.

SEED=20261117 make slow FLAGS="-k damaged"
"""

import os
import random
from datetime import UTC, datetime


def seed_of_run() -> int:
    """Return SEED, or the date as a number."""
    return int(os.environ.get("SEED") or datetime.now(UTC).strftime("%Y%m%d"))


def chance_of(part: object) -> random.Random:
    """Return the chance of one part of a test; what pytest prints of a failed one tells how to repeat it."""
    print(f"SEED={seed_of_run()} repeats this")
    return random.Random(f"{seed_of_run()} {part}")
