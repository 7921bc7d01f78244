"""A landing killed or failed where more than the note is needed: locks, the index, a merge that is done."""

from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.killing import install_killing_hooks
from tests.rows import few_fast
from tests.runs.landing.killed import KilledLandings


@pytest.mark.parametrize(
    ("way", "moment", "victim"),
    few_fast(
        [
            ("merge", "second-smudge", "all"),
            ("merge", "reference-transaction-prepared", "all"),
            ("merge", "reference-transaction-committed", "git"),
            ("squash", "second-smudge", "git"),
        ]
    ),
)
def test_a_landing_killed_inside_git_is_ended_by_the_same_command(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, moment: str, victim: str
) -> None:
    hooks = install_killing_hooks(tmp_path / "killing", project)
    landings = KilledLandings(nexus, tmp_path, monkeypatch, way)
    landings.land_undisturbed()
    place = landings.copy("killed")

    killed = hooks.kill(place, *landings.argv, moment=moment, victim=victim)

    assert killed.came
    if moment.endswith("committed"):  # git had moved the branch when it died
        assert (killed.status, killed.said) == (0, "")
    elif victim == "git":
        assert killed.status == 23
        assert "it was killed by signal 9\nhint: nothing was changed" in killed.said
        assert run_git(place, "status", "--porcelain") == ""
    else:
        told = nexus("doctor", place=place).stdout
        assert f"landing {landings.run} was stopped half-way: do not commit what it left" in told
        assert f"git nexus land {landings.run} completes a landing" in nexus.ok("status", place=place)
    assert landings.why_not_ended(place) == ""


def test_the_doctor_takes_back_the_half_that_a_killed_landing_left(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = install_killing_hooks(tmp_path / "killing", project)
    landings = KilledLandings(nexus, tmp_path, monkeypatch, "merge")
    place = landings.copy("killed")
    head = run_git(place, "rev-parse", "HEAD")
    hooks.kill(place, *landings.argv, moment="pre-merge-commit", victim="all")

    told = nexus.ok("doctor", "--fix", place=place)

    assert f"undid the half of {landings.run} that a killed landing left" in told
    assert run_git(place, "status", "--porcelain") == ""
    assert run_git(place, "rev-parse", "HEAD") == head
    assert not (place / ".git" / "MERGE_HEAD").exists()


# A command gives such a lock five seconds.
@pytest.mark.parametrize("way", ["merge", pytest.param("squash", marks=pytest.mark.slow(seconds=8))])
def test_the_index_lock_of_another_program_is_named_and_nothing_is_begun(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    landings = KilledLandings(nexus, tmp_path, monkeypatch, way)
    landings.land_undisturbed()
    place = landings.copy("locked")
    lock = place / ".git" / "index.lock"
    lock.write_bytes(b"")

    refused = nexus(*landings.argv, place=place)

    assert (refused.returncode, lock.exists()) == (7, True), refused.stderr
    assert "error: index.lock has existed for" in refused.stderr
    assert f"rm '{lock}'" in refused.stderr
    assert not (place / ".git" / "MERGE_HEAD").exists()
    assert run_git(place, "status", "--porcelain") == ""
    lock.unlink()
    assert landings.why_not_ended(place) == ""


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_a_landing_that_fails_half_way_is_taken_back_at_once(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    landings = KilledLandings(nexus, tmp_path, monkeypatch, way)
    landings.land_undisturbed()
    place = landings.copy("failed")
    run_git(place, "config", "filter.picky.smudge", "case %f in *readme*) cat;; *) exit 1;; esac")
    run_git(place, "config", "filter.picky.clean", "cat")
    run_git(place, "config", "filter.picky.required", "true")
    (place / ".git" / "info" / "attributes").write_text("* filter=picky\n")

    refused = nexus(*landings.argv, place=place)

    assert (refused.returncode, "nothing was changed" in refused.stderr) == (23, True), refused.stderr
    assert run_git(place, "status", "--porcelain") == ""
    (place / ".git" / "info" / "attributes").unlink()
    assert landings.why_not_ended(place) == ""
