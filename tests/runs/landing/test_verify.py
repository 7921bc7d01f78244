"""Which commits count as approved, whatever was done to them since."""

import json
import shutil
from pathlib import Path

import pytest

from gitnexus.policy.commit_message import Trailers, format_commit_message
from gitnexus.policy.keys import own_signer
from tests.conftest import Nexus, run_git
from tests.policy.signing import Key
from tests.runs.scene import RUN, RunScene, commit_file, commit_tree, prepared, raw_message, tree_of

BRANCH = f"main..nexus/{RUN}"


@pytest.fixture
def run(project: Path, nexus: Nexus) -> RunScene:
    def make(project: Path) -> RunScene:
        commit_file(project, "long.txt", "".join(f"line {n}\n" for n in range(60)))
        return RunScene(project)

    return prepared(nexus, "a run that just began, beside a long file", make)


def told(nexus: Nexus, *argv: str, place: Path | None = None) -> tuple[int, dict[str, str]]:
    """The exit status and, of each commit, its status."""
    done = nexus("verify", "--json", *argv, place=place)
    value = json.loads(done.stdout)
    return done.returncode, {row["commit"]: row["status"] for row in value["commits"]}


def why(nexus: Nexus, *argv: str) -> list[str]:
    return [row["reason"] for row in json.loads(nexus("verify", "--json", *argv).stdout)["commits"]]


def lines(**changed: str) -> str:
    return "".join(changed.get(f"line_{n}", f"line {n}") + "\n" for n in range(60))


def test_commits_as_they_were_approved_are_approved(run: RunScene, nexus: Nexus) -> None:
    one = run.commit({"a.txt": "a\n"})
    two = run.commit({"readme.txt": "changed\n"}, body="---\n\nNexus-Approval: nx1.x.y\n\nmore")

    status, found = told(nexus, BRANCH, "--require-approval")
    shown = nexus.ok("verify", BRANCH)

    assert (status, found) == (0, {one: "approved", two: "approved"})
    assert "2 commits: 2 approved" in shown


def test_a_person_s_commit_is_unapproved_and_fails_only_where_approval_is_required(run: RunScene, nexus: Nexus) -> None:
    made = commit_file(run.project, "mine.txt", "x\n")

    assert told(nexus, "HEAD~1..HEAD") == (0, {made: "unapproved"})
    assert told(nexus, "HEAD~1..HEAD", "--require-approval") == (22, {made: "unapproved"})


def test_a_rebase_and_a_cherry_pick_keep_the_approval(run: RunScene, nexus: Nexus) -> None:
    run.commit({"long.txt": lines(line_30="thirty")})
    run.commit({"b.txt": "b\n"})
    commit_file(run.project, "long.txt", "new head\n" + lines())
    run_git(run.project, "checkout", "-q", "-b", "picked")
    run_git(run.project, "cherry-pick", "-x", f"main~1..nexus/{RUN}")

    status, found = told(nexus, "main..picked", "--require-approval")

    assert (status, list(found.values())) == (0, ["approved", "approved"])
    assert set(why(nexus, "main..picked")) == {"its change is the one that was approved, on another base"}


def test_a_squash_of_all_tokens_on_the_same_base_is_approved(run: RunScene, nexus: Nexus) -> None:
    tokens = []
    for name in ("a.txt", "b.txt", "c.txt"):
        made = run.commit({name: name})
        tokens.append(raw_message(run.project, made).split("Nexus-Approval: ")[1].strip())
    squashed = format_commit_message("all", "", Trailers(RUN, ("a1", "a2", "a3"), "scripted", tuple(tokens)))
    part = format_commit_message("all", "", Trailers(RUN, ("a1", "a2"), "scripted", tuple(tokens[:2])))
    good = commit_tree(run.project, tree_of(run.project, run.tip), [run.base], squashed)
    less = commit_tree(run.project, tree_of(run.project, run.tip), [run.base], part)

    assert told(nexus, f"main..{good}") == (0, {good: "approved"})
    assert told(nexus, f"main..{less}") == (22, {less: "invalid"})


def test_a_clean_merge_adds_nothing_and_one_that_does_is_unapproved(run: RunScene, nexus: Nexus) -> None:
    run.commit({"a.txt": "a\n"})
    commit_file(run.project, "other.txt", "x\n")
    run_git(run.project, "merge", "-q", "--no-ff", "-m", "merge", run.tip)
    clean = run_git(run.project, "rev-parse", "HEAD").strip()
    (run.project / "evil.txt").write_text("x\n")
    run_git(run.project, "add", "evil.txt")
    run_git(run.project, "commit", "-q", "--amend", "--no-edit")
    evil = run_git(run.project, "rev-parse", "HEAD").strip()

    assert told(nexus, f"{clean}~1..{clean}")[1][clean] == "approved"
    assert told(nexus, f"{evil}~1..{evil}", "--require-approval") == (22, {run.tip: "approved", evil: "unapproved"})


def test_an_altered_tree_an_amend_and_copied_trailers_are_invalid(run: RunScene, nexus: Nexus) -> None:
    made = run.commit({"a.txt": "a\n"})
    text = raw_message(run.project, made)
    (run.worktree / "a.txt").write_text("b\n")
    run_git(run.worktree, "reset", "-q", "--hard")
    (run.worktree / "a.txt").write_text("another byte\n")
    run_git(run.worktree, "-c", "core.hooksPath=/dev/null", "commit", "-qa", "--amend", "--no-edit")
    amended = run.tip
    copied = commit_file(run.project, "mine.txt", "x\n", text)

    assert told(nexus, f"main~1..{amended}") == (22, {amended: "invalid"})
    assert told(nexus, "HEAD~1..HEAD") == (22, {copied: "invalid"})
    assert why(nexus, "HEAD~1..HEAD") == ["what it changes is not what was approved"]


def test_other_words_in_the_message_leave_the_approval_and_other_trailers_do_not(run: RunScene, nexus: Nexus) -> None:
    text = raw_message(run.project, run.commit({"a.txt": "a\n"}))
    tree = tree_of(run.project, run.tip)
    words = commit_tree(run.project, tree, [run.base], text.replace("mend it", "Other words"))
    other_run = commit_tree(run.project, tree, [run.base], text.replace(RUN, "261116-1503-zzzz"))
    other_action = commit_tree(run.project, tree, [run.base], text.replace("Action: a1", "Action: a9"))
    cut = commit_tree(run.project, tree, [run.base], text.rstrip()[:-2] + "\n")

    assert told(nexus, f"main..{words}") == (0, {words: "approved"})
    assert told(nexus, f"main..{other_run}")[1] == {other_run: "invalid"}
    assert told(nexus, f"main..{other_action}")[1] == {other_action: "invalid"}
    assert told(nexus, f"main..{cut}")[1] == {cut: "invalid"}


def test_a_token_of_another_project_or_key_or_kind_is_invalid(run: RunScene, nexus: Nexus) -> None:
    foreign = run.commit({"a.txt": "a\n"}, project="f" * 16)
    stranger = run.commit({"a.txt": "b\n"}, signer=Key())
    command = run.commit({"a.txt": "c\n"}, kind="command")

    status, found = told(nexus, BRANCH)

    assert (status, found) == (22, {foreign: "invalid", stranger: "invalid", command: "invalid"})
    reasons = why(nexus, BRANCH)
    assert "another project" in reasons[0]
    assert "not an approver" in reasons[1]
    assert "something else" in reasons[2]


def test_what_a_revoked_key_approved_is_invalid_from_then_on(run: RunScene, nexus: Nexus, sealed: Path) -> None:
    other = Key()
    nexus.ok("approver", "add", other.public, "--name", "Grace", "--confirm", other.key_id)
    made = run.commit({"a.txt": "a\n"}, signer=other)
    before = told(nexus, BRANCH, "--since-cursor")
    nexus.ok("approver", "revoke", "Grace")

    assert before == (0, {made: "approved"})
    assert told(nexus, BRANCH, "--since-cursor") == (22, {made: "invalid"})
    assert "was revoked" in why(nexus, BRANCH)[0]


def test_the_next_pass_begins_where_the_last_good_one_ended(run: RunScene, nexus: Nexus) -> None:
    one = run.commit({"a.txt": "a\n"})
    first = told(nexus, BRANCH, "--since-cursor")
    two = run.commit({"b.txt": "b\n"})

    second = told(nexus, BRANCH, "--since-cursor")

    assert (first, second) == ((0, {one: "approved"}), (0, {two: "approved"}))
    assert told(nexus, BRANCH) == (0, {one: "approved", two: "approved"})


def test_a_bad_pass_moves_no_cursor_and_a_lax_one_serves_no_strict_one(run: RunScene, nexus: Nexus) -> None:
    bad = run.commit({"a.txt": "a\n"}, signer=Key())
    for _ in range(2):
        assert told(nexus, BRANCH, "--since-cursor") == (22, {bad: "invalid"})
    made = commit_file(run.project, "mine.txt", "x\n")
    assert told(nexus, "HEAD~1..HEAD", "--since-cursor") == (0, {made: "unapproved"})
    assert told(nexus, "HEAD~1..HEAD", "--since-cursor", "--require-approval")[0] == 22


def test_a_fresh_clone_verifies_with_a_named_root_or_a_file_and_says_so_without(
    run: RunScene, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run.commit({"a.txt": "a\n"})
    root = own_signer().key_id
    shutil.copy(run.project / ".nexus" / "approvers", tmp_path / "approvers")
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", str(run.project), str(clone))
    monkeypatch.setenv("NEXUS_HOME", str(tmp_path / "elsewhere"))
    asked = f"origin/main..origin/nexus/{RUN}"

    nothing = nexus("verify", asked, place=clone)
    by_file = told(nexus, asked, "--approvers", "../approvers", "--root", root, place=clone)
    run_git(clone, "fetch", "-q", "origin", "refs/nexus/state:refs/nexus/state")
    unknown = nexus("verify", asked, place=clone)
    by_root = told(nexus, asked, "--root", root, place=clone)
    wrong = nexus("verify", asked, "--root", Key().key_id, place=clone)

    assert nothing.returncode == 4
    assert "refs/nexus/state" in nothing.stderr
    assert by_file == by_root == (0, {made: "approved"})
    assert unknown.returncode == 22
    assert "--root" in unknown.stderr
    assert wrong.returncode == 22
    assert "first approver" in wrong.stderr


def test_a_shallow_clone_says_that_it_is_one(run: RunScene, nexus: Nexus, tmp_path: Path) -> None:
    run.commit({"a.txt": "a\n"})
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", "--depth=1", "-b", f"nexus/{RUN}", f"file://{run.project}", str(clone))

    done = nexus("verify", "HEAD", "--json", "--approvers", str(run.project / ".nexus/approvers"), place=clone)

    assert done.returncode == 22
    assert "shallow" in json.loads(done.stdout)["commits"][0]["reason"]


@pytest.mark.parametrize("text", ["--output=x", "-n1", "HEAD...main", "HEAD:readme.txt", "@{-1}", "a..b..c", "nothing"])
def test_a_range_is_never_an_option_nor_more_than_a_range(run: RunScene, nexus: Nexus, text: str) -> None:
    done = nexus("verify", "--", text)

    assert done.returncode in (4, 6)
    assert not (run.project / "x").exists()


def test_without_a_range_it_is_what_is_ahead_and_else_the_last_commits(run: RunScene, nexus: Nexus) -> None:
    made = run.commit({"a.txt": "a\n"})

    assert told(nexus, place=run.worktree) == (0, {made: "approved"})
    assert len(told(nexus)[1]) == 2


@pytest.mark.parametrize("text", ["", " ", "..", "HEAD..HEAD", "main..main"])
def test_a_range_without_commits_is_an_error(run: RunScene, nexus: Nexus, text: str) -> None:
    refused = nexus("verify", text)

    assert refused.returncode == 6
    assert "no commits" in refused.stderr


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_a_range_that_cannot_be_read_is_an_error(run: RunScene, nexus: Nexus, how: str) -> None:
    commit_file(run.project, "one.txt", "1\n")
    middle = commit_file(run.project, "two.txt", "2\n")
    commit_file(run.project, "three.txt", "3\n")
    file = run.project / ".git" / "objects" / middle[:2] / middle[2:]
    file.chmod(0o600)
    file.unlink() if how == "missing" else file.write_bytes(b"damaged")

    refused = nexus("verify", "HEAD~1..HEAD"), nexus("verify", "HEAD")

    assert all(done.returncode not in (0, 99) for done in refused)
    assert [done.stdout for done in refused] == ["", ""]
