"""Strike scenes at all of their changes: python -m tests.crash [--in DIR] [--fault NAME…] [--every N] [SCENE…]."""

import argparse
import collections
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.crash.injector import Fault, build_library
from tests.crash.scenes import SCENES, Scene
from tests.crash.stage import Stage
from tests.crash.trial import prepare, try_point


def main() -> int:
    """Print a line for each scene and fault, and each violation; return 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--in", dest="folder", default=None, help="where the scratch folder goes")
    parser.add_argument("--fault", action="append", choices=[fault.name for fault in Fault if fault])
    parser.add_argument("--every", type=int, default=1, help="only every N-th change")
    parser.add_argument("--at", type=int, default=0, help="only this change")
    parser.add_argument("--terse", action="store_true", help="of objects written in a row only the first")
    parser.add_argument("--count", action="store_true", help="only count the changes")
    parser.add_argument("--changes", action="store_true", help="list the changes")
    parser.add_argument("scene", nargs="*")
    given = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("GIT_", "NEXUS_", "XDG_"))]:
        del os.environ[name]
    chosen = [scene for scene in SCENES if not given.scene or scene.name in given.scene]
    faults = [fault for fault in Fault if fault and (not given.fault or fault.name in given.fault)]
    wrong = 0
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="crash-") as folder:
        library = build_library(Path(folder))
        for durable in (False, True):
            stage = Stage(library, Path(folder, f"stage-{durable}"), durable=durable)
            try:
                for scene in chosen:
                    wrong += _try_scene(stage, scene, [f for f in faults if (f is Fault.POWER) == durable], given)
            finally:
                stage.close()
    return 1 if wrong else 0


def _try_scene(stage: Stage, scene: Scene, faults: Sequence[Fault], given: argparse.Namespace) -> int:
    if not faults:
        return 0
    prepared = prepare(stage, scene)
    print(f"{scene.name}: {prepared.points} changes", flush=True)
    if given.changes:
        print(stage.injector.log.read_text().replace(str(stage.root), ""))
    if given.count:
        return 0
    wrong = 0
    for fault in faults:
        since, kinds = time.monotonic(), collections.Counter[int]()
        numbers = [given.at] if given.at else prepared.numbers(terse=given.terse)[:: given.every]
        for number in numbers:
            struck, violations = try_point(stage, prepared, fault, number)
            for violation in violations:
                kinds[number] += 1
                print(f"  {fault.name} {number} ({struck.at}): {violation}", flush=True)
        wrong += len(kinds)
        seconds = time.monotonic() - since
        print(f"{scene.name} {fault.name}: {len(numbers)} tried, {len(kinds)} wrong, {seconds:.0f} s", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
