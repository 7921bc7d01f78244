"""A sandboxed `true` at each level, beside a bare one: what it costs to be careful.

With a pause before each, as between the commands of an agent: the launcher makes itself ready for the next meanwhile.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

from measure import Ratio, compare

from gitnexus.sandbox.environment import PATH, command_environment
from gitnexus.sandbox.levels import available_levels
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import Level, SandboxSpec

# A fork of a small Python and twenty system calls; at L2 one more and a dozen mounts; at L3 a program does the same.
LIMITS: dict[Level, float] = {"L0": 8.0, "L1": 8.0, "L2": 16.0, "L3": 35.0}


def sandboxed(place: str, program: str, level: Level) -> Callable[[], object]:
    spec = SandboxSpec(
        argv=("true",), program=program, cwd=place, root=place, env=command_environment({}, os.environ), level=level
    )
    return lambda: run_in_sandbox(spec)


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.realpath(folder)
        program = resolve_program("true", PATH, place, place).path

        def bare() -> object:
            return subprocess.run(
                [program], cwd=place, env={}, stdin=subprocess.DEVNULL, capture_output=True, check=True
            )

        for row in available_levels():
            if not row.there:
                print(f"     {row.level} is not measured: {row.why}")
                continue
            ours = sandboxed(place, program, row.level)
            what = f"`true` at {row.level}"
            yield compare(what, ours, "a bare one", bare, LIMITS[row.level], 60, before=lambda: time.sleep(0.03))
