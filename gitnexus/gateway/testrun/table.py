"""All test runners, in the order in which a project is asked for them."""

from gitnexus.gateway.testrun.cargo import Cargo
from gitnexus.gateway.testrun.go import Go
from gitnexus.gateway.testrun.javascript import Jest, Npm, Vitest
from gitnexus.gateway.testrun.other import Other
from gitnexus.gateway.testrun.protocol import Runner
from gitnexus.gateway.testrun.pytest import Pytest
from gitnexus.gateway.testrun.unittest import Unittest

# npm after those that tell more, unittest after pytest, which runs its tests as well.
RUNNERS: dict[str, Runner] = {
    runner.name: runner for runner in (Cargo(), Go(), Vitest(), Jest(), Npm(), Pytest(), Unittest(), Other())
}


def found(files: frozenset[str]) -> Runner | None:
    """Return the runner that the project's files call for."""
    return next((runner for runner in RUNNERS.values() if runner.plan(files, ()) is not None), None)
