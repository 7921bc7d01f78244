"""All test runners, in the order in which they are tried on a project."""

from gitnexus.gateway.testrun.cargo import Cargo
from gitnexus.gateway.testrun.go import Go
from gitnexus.gateway.testrun.javascript import Jest, Npm, Vitest
from gitnexus.gateway.testrun.other import OtherRunner
from gitnexus.gateway.testrun.protocol import Runner
from gitnexus.gateway.testrun.pytest import Pytest
from gitnexus.gateway.testrun.unittest import Unittest

# npm after those that tell more, unittest after pytest, which runs its tests as well.
RUNNERS: dict[str, Runner] = {
    runner.name: runner for runner in (Cargo(), Go(), Vitest(), Jest(), Npm(), Pytest(), Unittest(), OtherRunner())
}
