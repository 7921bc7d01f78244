"""The level of bubblewrap on a machine where nobody installed it: the sandbox's own tests, with an unpacked one."""

import os
import re
import sys

import pytest

from tests.slow.calls import must
from tests.slow.peers import ROOT, Unpacked

pytestmark = pytest.mark.slow


def test_the_sandbox_holds_at_the_level_of_bubblewrap(bubblewrap: Unpacked) -> None:
    program = bubblewrap.root / "usr" / "bin" / "bwrap"
    pytest_here = [sys.executable, "-m", "pytest", "-v", "-p", "no:xdist", "-rs", "-k", "L3"]
    places = ("tests/sandbox", "tests/attacks/test_confinement.py")

    said = must([*pytest_here, *places], ROOT, {**os.environ, "TEST_BWRAP": str(program)}, seconds=300)

    assert "L3" not in said, said  # a test that was skipped says which level it could not have
    assert re.search(r"\d\d passed", said), said
