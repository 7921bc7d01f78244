"""Where the two sets of fixtures are, and how a test runs one of them."""

import asyncio
import os
from pathlib import Path

import pytest

from gitnexus.conformance.load import LoadedFixture, load_fixtures
from gitnexus.conformance.run import FixtureResult, run_fixture
from gitnexus.conformance.transport import Transport

ROOT = Path(__file__).parents[2]
OURS = ROOT / "conformance"
UPSTREAM = Path(
    os.environ.get("NEXUS_UPSTREAM_CONFORMANCE") or ROOT.parent / "shared" / "nexus-core-0.10.0" / "conformance"
)
WHY_ABSENT = "upstream's conformance folder is not here; NEXUS_UPSTREAM_CONFORMANCE says where it is"
needs_upstream = pytest.mark.skipif(not UPSTREAM.is_dir(), reason=WHY_ABSENT)


def upstream() -> list[LoadedFixture]:
    """Return upstream's fixtures, none where they are not."""
    return load_fixtures(UPSTREAM) if UPSTREAM.is_dir() else []


def ran(one: LoadedFixture, transport: Transport) -> FixtureResult:
    """Run one fixture as the command does."""
    return asyncio.run(run_fixture(one, transport))
