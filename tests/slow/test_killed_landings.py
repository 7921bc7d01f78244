"""A landing killed at every call of git and at every moment inside git's merge: the same command again ends it.

CRASH_POINTS=sample, as in .ci/run, kills at some calls that the date chooses; `make slow` kills at all of them.
"""

import os
from pathlib import Path

import pytest

from tests.conftest import Nexus
from tests.killing import MOMENTS, VICTIMS, WAYS, install_killing_git, install_killing_hooks
from tests.runs.landing.killed import KilledLandings
from tests.seeds import chance_of

ALL = os.environ.get("CRASH_POINTS", "all") == "all"
_SAMPLE = 12


@pytest.mark.slow(seconds=120)
@pytest.mark.parametrize("way", ["merge", "rebase", "squash"])
def test_a_landing_killed_at_any_call_of_git_is_ended_by_the_same_command(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    landings = KilledLandings(nexus, tmp_path, monkeypatch, way)
    landings.land_undisturbed()
    git = install_killing_git(tmp_path / "killing", monkeypatch)
    assert git.kill(landings.copy("counted"), *landings.argv) == 0
    points = [(how, call) for call in range(1, git.calls + 1) for how in WAYS]
    assert len(points) > 30
    wrong = {}
    for how, call in points if ALL else chance_of(way).sample(points, _SAMPLE):
        place = landings.copy(f"{how}-{call}")
        git.kill(place, *landings.argv, at=call, way=how)
        wrong[how, call] = landings.why_not_ended(place)

    assert {at: why for at, why in wrong.items() if why} == {}


@pytest.mark.slow(seconds=120)
@pytest.mark.parametrize("way", ["merge", "rebase", "squash"])
def test_a_landing_killed_at_any_moment_inside_git_is_ended_by_the_same_command(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    hooks = install_killing_hooks(tmp_path / "killing", project)
    landings = KilledLandings(nexus, tmp_path, monkeypatch, way)
    landings.land_undisturbed()
    wrong, came = {}, set()
    for moment in MOMENTS:
        for victim in VICTIMS:
            place = landings.copy(f"{moment}-{victim}")
            if hooks.kill(place, *landings.argv, moment=moment, victim=victim).came:
                came.add(moment)
            wrong[moment, victim] = landings.why_not_ended(place)

    assert {at: why for at, why in wrong.items() if why} == {}
    own = {"pre-merge-commit", "prepare-commit-msg", "commit-msg"}  # only a merge commit has these
    assert came == (set(MOMENTS) if way == "merge" else set(MOMENTS) - own)
