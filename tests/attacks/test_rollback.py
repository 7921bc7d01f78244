"""Going back while looking approved: merges with an old tree, approvals used again, pushes that undo others."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from gitnexus.runs.landing.verify_commit import CLEAN
from tests.conftest import Nexus, run_git
from tests.docs.test_verify_in_ci import HOOK
from tests.runs.scene import RUN, RunScene, commit_file, commit_tree, raw_message, tree_of

NEXT = "261116-1504-m2qa"
UNDO = "261116-1505-p9wd"


@pytest.fixture
def run(project: Path) -> RunScene:
    return RunScene(project)


def head(project: Path) -> str:
    return run_git(project, "rev-parse", "HEAD").strip()


def take(project: Path, scene: RunScene) -> str:
    """Move main on to what a run made; both are approved."""
    run_git(project, "merge", "-q", "--ff-only", f"nexus/{scene.id}")
    return head(project)


def judged(nexus: Nexus, *argv: str) -> tuple[int, list[tuple[str, str]]]:
    done = nexus("verify", "--json", *argv)
    value = json.loads(done.stdout)
    return done.returncode, [(row["status"], row["reason"]) for row in value["commits"]]


def pushed(project: Path, *argv: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "NEXUS_HOME": str(project.parent / "stranger")}
    done = ["git", "push", "origin", *argv]
    return subprocess.run(done, cwd=project, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def server(project: Path, nexus: Nexus) -> Path:
    """A bare repository with main, the state, and the hook of the page on CI."""
    place = project.parent / "server.git"
    run_git(project.parent, "init", "-q", "--bare", str(place))
    run_git(project, "remote", "add", "origin", str(place))
    run_git(project, "push", "-q", "origin", "main", "refs/nexus/state")
    hook = place / "hooks" / "pre-receive"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    run_git(place, "config", "nexus.root", json.loads(nexus.ok("approver", "list", "--json"))["pin"])
    return place


@pytest.fixture
def undo(project: Path, run: RunScene) -> str:
    """The commit of an approved change; main has it, and an approved commit after it that takes it out again."""
    added = run.commit({"backdoor.txt": "x\n"})
    take(project, run)
    other = RunScene(project, UNDO)
    other.commit({"backdoor.txt": None})
    take(project, other)
    return added


def test_a_merge_with_tree_and_words_of_an_old_commit_approves_no_rollback(
    project: Path, run: RunScene, nexus: Nexus, server: Path
) -> None:
    """18.1: the first parent is the old base, the second is main; it fast-forwards over all that came since."""
    old = run.commit({"a.txt": "a\n"})
    take(project, run)
    later = RunScene(project, NEXT)
    later.commit({"fix.txt": "an important fix\n"})
    tip = take(project, later)
    assert pushed(project, "main").returncode == 0
    back = commit_tree(project, tree_of(project, old), [run.base, tip], raw_message(project, old))
    run_git(project, "update-ref", "refs/heads/main", back)

    status, rows = judged(nexus, f"{tip}..{back}")
    refused = pushed(project, "main")

    assert (status, [row[0] for row in rows]) == (22, ["invalid"])
    assert "all its parents" in rows[0][1]
    assert refused.returncode != 0
    assert "all its parents" in refused.stderr
    assert run_git(server, "rev-parse", "main").strip() == tip


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0, 1), (1, 0, 0)])
def test_no_order_of_parents_makes_an_old_tree_a_merge(
    project: Path, run: RunScene, nexus: Nexus, order: tuple[int, ...]
) -> None:
    old = run.commit({"a.txt": "a\n"})
    run.commit({"fix.txt": "an important fix\n"})
    tip = take(project, run)
    both = (run.base, tip)
    with_words = commit_tree(project, tree_of(project, old), [both[at] for at in order], raw_message(project, old))
    without = commit_tree(project, tree_of(project, old), [both[at] for at in order], "Merge\n")

    assert judged(nexus, f"{tip}..{with_words}")[1][0][0] == "invalid"
    assert judged(nexus, f"{tip}..{without}", "--require-approval") == (
        22, [("unapproved", "it is not what git makes of all its parents, and no approval is for this very merge")]
    )  # fmt: skip


def test_an_octopus_is_what_git_makes_of_all_its_heads(project: Path, nexus: Nexus) -> None:
    scenes = [RunScene(project, name) for name in (RUN, NEXT, UNDO)]
    tips = [scene.commit({f"{at}.txt": "x\n"}) for at, scene in enumerate(scenes)]
    run_git(project, "merge", "-q", "-m", "all of them", *tips)
    clean = head(project)
    parents = run_git(project, "log", "-1", "--format=%P").split()
    lacking = commit_tree(project, tree_of(project, tips[0]), parents, "all of them\n")
    base = scenes[0].base

    assert len(parents) >= 3
    assert judged(nexus, f"{base}..{clean}", "--require-approval")[0] == 0
    assert judged(nexus, f"{base}..{lacking}", "--require-approval")[1][-1][0] == "unapproved"


def test_a_cherry_pick_of_what_was_undone_needs_a_new_approval(
    project: Path, undo: str, nexus: Nexus, server: Path
) -> None:
    tip = head(project)
    run_git(project, "cherry-pick", undo)

    status, rows = judged(nexus, f"{tip}..HEAD")
    whole = judged(nexus, f"{undo}~1..HEAD")
    refused = pushed(project, "main")

    assert (status, rows) == (
        22, [("invalid", f"its approval proved this change before, in {undo[:12]}; to do it again needs a new one")]
    )  # fmt: skip
    assert [row[0] for row in whole[1]] == ["approved", "approved", "invalid"]
    assert refused.returncode != 0
    assert "proved this change before" in refused.stderr


def test_the_same_change_once_more_after_it_stands_is_not_approved_either(
    project: Path, run: RunScene, nexus: Nexus
) -> None:
    made = run.commit({"readme.txt": "hello\nx\n"})
    tip = take(project, run)
    tree = tree_of(project, made)
    again = commit_tree(project, tree_of(project, run.base), [tip], "back\n")
    twice = commit_tree(project, tree, [again], raw_message(project, made))

    assert [row[0] for row in judged(nexus, f"{run.base}..{twice}")[1]] == ["approved", "unapproved", "invalid"]


def test_a_backport_to_a_branch_that_never_had_it_is_approved(project: Path, run: RunScene, nexus: Nexus) -> None:
    run_git(project, "branch", "release")
    made = run.commit({"fix.txt": "x\n"})
    take(project, run)
    run_git(project, "switch", "-q", "release")
    commit_file(project, "notes.txt", "1.0\n")
    start = head(project)
    run_git(project, "cherry-pick", "-x", made)

    assert judged(nexus, f"{start}..HEAD", "--require-approval") == (
        0, [("approved", "its change is the one that was approved, on another base")]
    )  # fmt: skip


def test_a_merge_of_a_backport_is_approved_where_the_change_stands(project: Path, run: RunScene, nexus: Nexus) -> None:
    run_git(project, "branch", "release")
    made = run.commit({"fix.txt": "x\n"})
    tip = take(project, run)
    run_git(project, "switch", "-q", "release")
    commit_file(project, "notes.txt", "1.0\n")
    run_git(project, "cherry-pick", made)
    run_git(project, "switch", "-q", "main")
    run_git(project, "merge", "-q", "--no-ff", "-m", "merge", "release")

    assert [row[0] for row in judged(nexus, f"{tip}..HEAD")[1]] == ["unapproved", "approved", "approved"]


def test_a_merge_does_not_bring_back_what_was_undone(project: Path, undo: str, nexus: Nexus, server: Path) -> None:
    """The same change from the old base, with the same token, merged: git by itself takes it in again."""
    tip = head(project)
    twin = commit_tree(project, tree_of(project, undo), [run_git(project, "rev-parse", f"{undo}~1").strip()],
                       raw_message(project, undo).replace("mend it", "again"))  # fmt: skip
    run_git(project, "merge", "-q", "--no-ff", "-m", "merge", twin)
    assert (project / "backdoor.txt").exists()

    status, rows = judged(nexus, f"{tip}..HEAD", "--require-approval")
    refused = pushed(project, "main")

    assert (status, [row[0] for row in rows]) == (22, ["approved", "unapproved"])
    assert "brings back" in rows[1][1]
    assert refused.returncode != 0
    assert "brings back" in refused.stderr


def test_a_forced_push_that_goes_back_is_refused_and_told_as_such(
    project: Path, undo: str, nexus: Nexus, server: Path
) -> None:
    """18.1: the range of such a push is empty, so nothing in it is wrong."""
    tip = head(project)
    assert pushed(project, "main").returncode == 0

    done = nexus("verify", "--require-approval", f"{tip}..{undo}")
    lax = nexus("verify", f"{tip}..{undo}")
    asked = nexus("verify", "--json", "--forward", f"{tip}..{undo}")
    refused = pushed(project, "--force", f"{undo}:main")

    assert done.returncode == 22
    assert f"The range goes back: 1 commit that {tip[:9]} has would be undone." in done.stdout
    assert (lax.returncode, "as a push it would undo them" in lax.stderr) == (0, True)
    assert asked.returncode == 22
    assert json.loads(asked.stdout)["goesBack"] == {"from": tip, "commits": 1}
    assert refused.returncode != 0
    assert "The range goes back" in refused.stderr
    assert run_git(server, "rev-parse", "main").strip() == tip


@pytest.mark.slow
def test_a_forced_push_that_leaves_commits_out_and_adds_approved_ones_is_refused(
    project: Path, run: RunScene, nexus: Nexus, server: Path
) -> None:
    first = run.commit({"a.txt": "a\n"})
    run.commit({"fix.txt": "x\n"})
    tip = take(project, run)
    assert pushed(project, "main").returncode == 0
    run_git(project, "switch", "-q", "-c", "side", first)
    other = RunScene(project, NEXT)
    made = other.commit({"b.txt": "b\n"})

    refused = pushed(project, "--force", f"{made}:main")

    assert judged(nexus, "--require-approval", f"{tip}..{made}")[0] == 0
    assert judged(nexus, "--require-approval", "--forward", f"{tip}..{made}")[0] == 22
    assert refused.returncode != 0
    assert "The range goes back" in refused.stderr


def test_a_branch_that_is_guarded_cannot_be_deleted_and_begun_anew(
    project: Path, undo: str, nexus: Nexus, server: Path
) -> None:
    tip = head(project)
    assert pushed(project, "main").returncode == 0
    run_git(server, "config", "receive.denyDeleteCurrent", "ignore")

    refused = pushed(project, "--delete", "main")

    assert refused.returncode != 0
    assert run_git(server, "rev-parse", "main").strip() == tip


def test_the_machine_that_verified_more_says_that_the_branch_went_back(project: Path, undo: str, nexus: Nexus) -> None:
    nexus.ok("verify", "HEAD", "--since-cursor")
    run_git(project, "reset", "-q", "--hard", undo)

    done = nexus("verify", "HEAD", "--since-cursor")

    assert "goes back" in done.stderr


def merged_again(project: Path, added: str) -> None:
    """Merge the change of `added` from its old base, with its token, as another commit."""
    twin = commit_tree(project, tree_of(project, added), [run_git(project, "rev-parse", f"{added}~1").strip()],
                       raw_message(project, added).replace("mend it", "again"))  # fmt: skip
    run_git(project, "merge", "-q", "--no-ff", "-m", "merge", twin)


def test_a_merge_does_not_bring_back_what_was_undone_in_a_file_that_was_renamed_since(
    project: Path, run: RunScene, nexus: Nexus
) -> None:
    lines = "".join(f"line {number}\n" for number in range(20))
    commit_file(project, "signer.py", f"{lines}safe\n")
    made = RunScene(project, NEXT)
    added = made.commit({"signer.py": f"{lines}open\n"})
    take(project, made)
    other = RunScene(project, UNDO)
    other.commit({"signer.py": f"{lines}safe\n"})
    other.commit({"signer.py": None, "signing.py": f"{lines}safe\n"})
    tip = take(project, other)
    merged_again(project, added)
    assert (project / "signing.py").read_text().endswith("open\n")

    status, rows = judged(nexus, f"{tip}..HEAD", "--require-approval")

    assert (status, "brings back" in rows[-1][1]) == (22, True)


def test_a_merge_does_not_bring_back_what_was_undone_where_the_same_lines_stand_elsewhere(
    project: Path, run: RunScene, nexus: Nexus
) -> None:
    def text(first: str, second: str) -> str:
        gap = "".join(f"line {number}\n" for number in range(20))
        return "".join(f"{gap}1\n2\n3\n{one}\n4\n5\n6\n" for one in (first, second))

    commit_file(project, "a.txt", text("safe", "safe"))
    made = RunScene(project, NEXT)
    added = made.commit({"a.txt": text("open", "safe")})
    take(project, made)
    other = RunScene(project, UNDO)
    other.commit({"a.txt": text("safe", "safe")})
    other.commit({"a.txt": text("safe", "open")})
    tip = take(project, other)
    merged_again(project, added)
    assert (project / "a.txt").read_text() == text("open", "open")

    assert judged(nexus, f"{tip}..HEAD", "--require-approval")[0] == 22


def test_a_merge_of_the_same_change_is_approved_where_its_file_went_on_elsewhere(
    project: Path, run: RunScene, nexus: Nexus
) -> None:
    lines = [f"line {number}\n" for number in range(30)]
    commit_file(project, "a.txt", "".join(lines))
    made = RunScene(project, NEXT)
    added = made.commit({"a.txt": "".join(["mended\n", *lines[1:]])})
    take(project, made)
    other = RunScene(project, UNDO)
    other.commit({"a.txt": "".join(["mended\n", *lines[1:29], "more\n"])})
    tip = take(project, other)
    merged_again(project, added)

    assert judged(nexus, f"{tip}..HEAD", "--require-approval")[0] == 0


def test_the_cursor_forgets_no_line_that_a_merge_joins(project: Path, undo: str, nexus: Nexus) -> None:
    base = head(project)
    start = run_git(project, "rev-parse", f"{undo}~1").strip()
    twin = commit_tree(project, tree_of(project, undo), [start], raw_message(project, undo).replace("mend it", "again"))
    run_git(project, "switch", "-q", "-c", "feature", twin)
    asked = ("--require-approval", "--since-cursor")
    assert judged(nexus, f"{base}..HEAD", *asked)[0] == 0
    run_git(project, "merge", "-q", "-m", "merge", base)

    with_cursor = judged(nexus, f"{base}..HEAD", *asked)

    assert with_cursor[0] == 22
    assert "brings back" in with_cursor[1][-1][1]


def test_a_merge_that_adds_nothing_uses_up_nobodys_approval(project: Path, run: RunScene, nexus: Nexus) -> None:
    first = RunScene(project, NEXT)
    first.commit({"other.txt": "x\n"})
    tip = take(project, first)
    made = run.commit({"fix.txt": "x\n"})
    eater = commit_tree(project, tree_of(project, tip), [tip, first.base], raw_message(project, made))
    run_git(project, "reset", "-q", "--hard", eater)

    run.end()

    landed = nexus("land", "--rebase", run.id)

    assert judged(nexus, f"{tip}..{eater}", "--require-approval") == (0, [("approved", CLEAN)])
    assert landed.returncode == 0, landed.stderr
    assert (project / "fix.txt").exists()
    assert judged(nexus, f"{eater}..HEAD", "--require-approval")[0] == 0
