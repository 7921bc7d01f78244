"""A run lands as it was approved, or not at all; and what lies in the checkout stays."""

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.conftest import Nexus, run_git, trust
from tests.policy.signing import Key
from tests.runs.live import typed
from tests.runs.scene import RUN, RunScene, commit_file, commit_tree, point, prepared, raw_message, tree_of

WAYS = ["--merge", "--rebase", "--squash"]


def slow_ways(*ways: str) -> Iterator[ParameterSet]:
    """Yield ways that are tried with the slow tests; another one is in the fast set."""
    return (pytest.param(way, marks=pytest.mark.slow) for way in ways)


def lines(**changed: str) -> str:
    return "".join(changed.get(f"line_{n}", f"line {n}") + "\n" for n in range(60))


@pytest.fixture
def run(project: Path, nexus: Nexus) -> RunScene:
    """A run of two approved commits, ended."""

    def make(project: Path) -> RunScene:
        commit_file(project, "long.txt", lines())
        made = RunScene(project)
        made.commit({"long.txt": lines(line_30="thirty"), "new/a.txt": "a\n"}, summary="first step")
        made.commit({"long.txt": lines(line_30="thirty", line_50="fifty"), "readme.txt": None}, summary="second step")
        return made.end()

    return prepared(nexus, "a run of two approved commits, ended", make)


def landed(nexus: Nexus, *argv: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(nexus.ok("land", RUN, "--json", *argv))
    return found


def head(project: Path) -> str:
    return run_git(project, "rev-parse", "HEAD").strip()


def is_clean(project: Path) -> bool:
    return run_git(project, "status", "--porcelain") == ""


@pytest.mark.parametrize("way", WAYS)
def test_it_lands_on_an_unmoved_base_and_verifies(run: RunScene, nexus: Nexus, way: str) -> None:
    found = landed(nexus, way)

    assert tree_of(run.project, "HEAD") == tree_of(run.project, run.tip)
    assert is_clean(run.project)
    assert (found["commit"], found["already"]) == (head(run.project), False)
    nexus.ok("verify", f"{run.base}..HEAD", "--require-approval")
    assert (run.record().status, run.record().landed) == ("landed", head(run.project))
    count = {"--merge": 3, "--rebase": 2, "--squash": 1}[way]
    assert int(run_git(run.project, "rev-list", "--count", f"{run.base}..HEAD")) == count


@pytest.mark.parametrize("way", WAYS)
def test_it_lands_on_a_base_that_moved_elsewhere_and_verifies(run: RunScene, nexus: Nexus, way: str) -> None:
    moved = commit_file(run.project, "long.txt", "new first line\n" + lines())

    landed(nexus, way)

    assert (run.project / "long.txt").read_text() == "new first line\n" + lines(line_30="thirty", line_50="fifty")
    assert is_clean(run.project)
    nexus.ok("verify", f"{moved}..HEAD", "--require-approval")


@pytest.mark.parametrize("way", ["--rebase", *slow_ways("--merge", "--squash")])
def test_twice_is_harmless_also_when_the_record_was_lost_in_between(run: RunScene, nexus: Nexus, way: str) -> None:
    commit_file(run.project, "other.txt", "x\n")
    first = landed(nexus, way)
    run.end("completed")  # as after a kill between the landing and the record

    second = landed(nexus, way)

    assert (second["already"], second["commit"]) == (True, first["commit"])
    assert head(run.project) == first["commit"]
    assert run.record().status == "landed"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param(lines(line_30="another thirty"), id="conflict"),
        pytest.param(lines(line_32="near"), id="changed hunk"),
    ],
)
def test_a_base_that_moved_under_the_change_needs_a_new_approval(
    run: RunScene, nexus: Nexus, way: str, theirs: str
) -> None:
    before = commit_file(run.project, "long.txt", theirs)

    done = nexus("land", RUN, way)

    assert done.returncode == 23
    assert "needs a new approval" in done.stderr
    assert (head(run.project), is_clean(run.project)) == (before, True)
    assert run.record().status == "completed"


@pytest.mark.parametrize("way", ["--merge", *slow_ways("--squash")])
def test_at_a_terminal_what_it_would_be_now_is_shown_approved_and_verified(
    run: RunScene, nexus: Nexus, way: str
) -> None:
    commit_file(run.project, "long.txt", lines(line_32="near"))

    status, drawn = typed(run.project, "y", "git-nexus", "land", RUN, way)

    assert (status, "needs a new approval" in drawn, "+thirty" in drawn) == (0, True, True)
    assert (run.project / "long.txt").read_text() == lines(line_30="thirty", line_32="near", line_50="fifty")
    assert run.record().status == "landed"
    found = json.loads(nexus.ok("verify", "--json", f"{run.base}..HEAD"))
    newest = found["commits"][-1]
    assert (newest["commit"], newest["status"], newest["action"]) == (head(run.project), "approved", "land")
    assert newest["reason"].startswith("it is the very merge" if way == "--merge" else "its tree is the one")
    assert landed(nexus, way)["already"] is True


def test_what_is_not_approved_anew_does_not_land(run: RunScene) -> None:
    before = commit_file(run.project, "long.txt", lines(line_32="near"))

    left, _ = typed(run.project, "q", "git-nexus", "land", RUN)
    refused, drawn = typed(run.project, "d\nnot like this", "git-nexus", "land", RUN)

    assert (left, refused, "not like this" in drawn) == (21, 20, True)
    assert (head(run.project), is_clean(run.project), run.record().status) == (before, True, "completed")


@pytest.mark.parametrize(
    ("way", "path"),
    [
        *(("--merge", path) for path in ("long.txt", "new/a.txt", "readme.txt", "new")),
        ("--rebase", "long.txt"),
        ("--squash", "new/a.txt"),
    ],
)
def test_uncommitted_work_in_the_way_is_named_and_left_alone(run: RunScene, nexus: Nexus, way: str, path: str) -> None:
    (run.project / path).parent.mkdir(exist_ok=True)
    (run.project / path).write_text("mine\n")
    before = head(run.project)

    done = nexus("land", RUN, way)

    assert done.returncode == 23
    assert ("new/a.txt" if path == "new" else path) in done.stderr
    assert (run.project / path).read_text() == "mine\n"
    assert head(run.project) == before


@pytest.mark.parametrize("way", ["--squash", *slow_ways("--merge")])
def test_an_ignored_file_is_not_written_over_and_other_work_stays(run: RunScene, nexus: Nexus, way: str) -> None:
    (run.project / ".git" / "info" / "exclude").write_text("new/\n*.log\n")
    (run.project / "a.log").write_text("mine\n")
    (run.project / "notes.txt").write_text("mine\n")
    commit_file(run.project, "mine.txt", "mine\n")
    (run.project / "mine.txt").write_text("mine, not done\n")
    (run.project / "new").mkdir()
    (run.project / "new" / "a.txt").write_text("precious\n")

    refused = nexus("land", RUN, way)
    kept = (run.project / "new" / "a.txt").read_text()
    (run.project / "new" / "a.txt").unlink()
    done = nexus("land", RUN, way)

    assert (done.returncode, "uncommitted work was left alone: mine.txt\n" in done.stderr) == (0, True)
    assert (run.project / "mine.txt").read_text() == "mine, not done\n"
    assert (refused.returncode, kept) == (23, "precious\n")
    assert (run.project / "new" / "a.txt").read_text() == "a\n"
    assert (run.project / "a.log").read_text() == (run.project / "notes.txt").read_text() == "mine\n"


@pytest.mark.parametrize("status", ["running", "waiting", "blocked", "failed", "cancelled"])
def test_a_run_that_is_not_completed_does_not_land(run: RunScene, nexus: Nexus, status: str) -> None:
    run.end(status)

    done = nexus("land", RUN)

    assert done.returncode == 1
    assert "hint:" in done.stderr
    assert head(run.project) == run.base


def test_an_altered_branch_never_lands(run: RunScene, nexus: Nexus) -> None:
    good = run.tip
    tree = tree_of(run.project, f"{good}~1")
    altered = commit_tree(run.project, tree, [f"{run.base}"], raw_message(run.project, good))
    unapproved = commit_tree(run.project, tree, [good], "one more\n")
    shorter = run_git(run.project, "rev-parse", f"{good}~1").strip()

    for tip in (altered, unapproved, shorter):
        point(run.project, f"refs/heads/nexus/{RUN}", tip)
        assert nexus("land", RUN, "--rebase").returncode == 22
    for tip, way in ((altered, "--merge"), (unapproved, "--squash")):  # also where the record was altered with it
        point(run.project, f"refs/heads/nexus/{RUN}", tip)
        run.end()
        assert nexus("land", RUN, way).returncode == 22
    assert head(run.project) == run.base


def test_what_nobody_here_may_approve_does_not_land(project: Path, nexus: Nexus) -> None:
    run = RunScene(project)
    run.commit({"a.txt": "a\n"}, signer=Key())
    run.end()

    done = nexus("land", RUN)

    assert done.returncode == 22
    assert "not an approver" in done.stderr


def test_a_merge_brings_no_commits_that_the_run_only_began_on(project: Path, nexus: Nexus) -> None:
    run_git(project, "switch", "-q", "-c", "feature")
    commit_file(project, "unfinished.txt", "x\n")
    run = RunScene(project)
    run.commit({"a.txt": "a\n"})
    run.end()
    run_git(project, "switch", "-q", "main")

    refused = nexus("land", RUN)
    nexus.ok("land", RUN, "--rebase")

    assert refused.returncode == 23
    assert (project / "a.txt").exists()
    assert not (project / "unfinished.txt").exists()


def test_the_user_s_hooks_speak_and_a_refusal_leaves_all_as_it_was(run: RunScene, nexus: Nexus) -> None:
    before = commit_file(run.project, "other.txt", "x\n")
    hooks = run.project.parent / "hooks"
    hooks.mkdir()
    hook = hooks / "pre-merge-commit"
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    run_git(run.project, "config", "core.hooksPath", str(hooks))

    done = nexus("land", RUN)

    assert done.returncode == 23
    assert (head(run.project), is_clean(run.project)) == (before, True)
    assert not (run.project / ".git" / "MERGE_HEAD").exists()
    hook.unlink()
    nexus.ok("land", RUN)


def test_what_a_merge_driver_makes_of_it_is_found_out_and_taken_back(run: RunScene, nexus: Nexus) -> None:
    before = commit_file(run.project, "long.txt", "new first line\n" + lines())
    (run.project / ".git" / "info" / "attributes").write_text("long.txt merge=odd\n")
    run_git(run.project, "config", "merge.odd.driver", "echo evil > %A")
    (run.project / "notes.txt").write_text("mine\n")

    done = nexus("land", RUN)

    assert done.returncode == 22
    assert "merge driver" in done.stderr
    assert (head(run.project), run.record().status) == (before, "completed")
    assert run_git(run.project, "status", "--porcelain") == "?? notes.txt\n"


def test_it_refuses_where_there_is_nothing_to_land_on(run: RunScene, nexus: Nexus) -> None:
    in_run = nexus("land", RUN, place=run.worktree)
    run_git(run.project, "checkout", "-q", "--detach")
    detached = nexus("land", RUN)
    unknown = nexus("land", "261116-1503-zzzz")

    assert (in_run.returncode, detached.returncode, unknown.returncode) == (1, 1, 4)


def test_authors_and_messages_survive_a_rebase(run: RunScene, nexus: Nexus) -> None:
    commit_file(run.project, "other.txt", "x\n")
    form = "--format=%an <%ae> %ad %cn%n%B"
    asked = ["log", "--date=raw", form]
    before = run_git(run.project, *asked, f"{run.base}..{run.tip}")

    landed(nexus, "--rebase")

    assert run_git(run.project, *asked, "HEAD~2..HEAD") == before


def test_checks_run_on_what_would_land_and_only_if_they_are_signed(run: RunScene, nexus: Nexus) -> None:
    checks = [["/bin/sh", "-c", "test -e new/a.txt && ! test -e readme.txt"], ["/bin/sh", "-c", "echo no good; exit 3"]]
    settings = run.project / ".nexus" / "settings.json"
    settings.write_text(json.dumps({"runs": {"checks": checks}}))
    nexus.ok("status")
    trust(run.project)

    refused = nexus("land", RUN)
    before = head(run.project)
    settings.write_text(json.dumps({"runs": {"checks": [["/bin/sh", "-c", "exit 4"]]}}))
    found = landed(nexus)

    assert refused.returncode == 1
    assert "no good" in refused.stderr
    assert before == run.base
    assert found["checks"] == []


def test_a_squash_on_a_moved_base_is_signed_by_who_lands_it(run: RunScene, nexus: Nexus) -> None:
    commit_file(run.project, "other.txt", "x\n")

    landed(nexus, "--squash")

    text = raw_message(run.project, "HEAD")
    assert text.count("Nexus-Approval: nx1.") == 3
    assert "Nexus-Action: land" in text
    assert "- first step\n- second step" in text


@pytest.mark.slow
@pytest.mark.parametrize("way", ["merge", "rebase", "squash"])
@pytest.mark.parametrize("at", range(8))
def test_killed_at_any_point_it_is_before_or_after(run: RunScene, nexus: Nexus, way: str, at: int) -> None:
    before = commit_file(run.project, "other.txt", "x\n")
    killer = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "left = int(sys.argv[1])\n"
        "def dying(real):\n"
        "    def call(*args, **kw):\n"
        "        global left\n"
        "        left -= 1\n"
        "        if left < 0: os.kill(os.getpid(), 9)\n"
        "        return real(*args, **kw)\n"
        "    return call\n"
        "from gitnexus.git import user_git\n"
        "from gitnexus.policy.ledger import Ledger\n"
        "from gitnexus.runs import store\n"
        "user_git.run_user_git = dying(user_git.run_user_git)\n"
        "store.update_run = dying(store.update_run)\n"
        "Ledger.spend = dying(Ledger.spend)\n"
        "from gitnexus.app import open_nexus\n"
        "from gitnexus.runs.landing.checks import run_check_sandboxed\n"
        "from gitnexus.runs.landing.land import land_run\n"
        "land_run(open_nexus(Path.cwd()).state, sys.argv[2], sys.argv[3], run_check_sandboxed)\n"
    )
    argv = [sys.executable, "-c", killer, str(at), RUN, way]
    subprocess.run(argv, cwd=run.project, check=False, capture_output=True)

    between = head(run.project)
    clean = is_clean(run.project)
    landed(nexus, f"--{way}")

    assert clean
    assert between in (before, head(run.project))
    count = {"merge": 3, "rebase": 2, "squash": 1}[way]
    assert int(run_git(run.project, "rev-list", "--count", f"{before}..HEAD")) == count
    nexus.ok("verify", f"{before}..HEAD", "--require-approval")
