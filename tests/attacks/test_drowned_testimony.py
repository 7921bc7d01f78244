"""What commits say about a state stays heard, however much that nobody signed is put on top of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.base.canonical import canonical_json, parse_json
from gitnexus.base.errors import VerificationFailed
from gitnexus.policy import witness
from gitnexus.policy.approver_changes import find_doubt
from gitnexus.policy.commit_message import parse_trailers
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.projects.open_state import open_state
from gitnexus.runs.landing.verify_range import approvers_for, verify_range
from tests.attacks.conftest import STATE
from tests.attacks.test_pinned_project import NEXT, land, pin_of, publish, state_of, tighten_policy
from tests.conftest import Nexus, run_git
from tests.policy.signing import Key
from tests.rows import few_fast
from tests.runs.scene import RunScene


def forge(token: str, number: int) -> str:
    """Return a token with a `seen` of its own, which its signature does not fit."""
    _, claims, signature = token.split(".")
    said = {**parse_json(decode_base64(claims)), "seen": [f"1.{number:016x}"]}
    return f"nx1.{encode_base64(canonical_json(said))}.{signature}"


def put_on_top(project: Path, tokens: list[str]) -> str:
    """Commit nothing on main, with these tokens in the message."""
    trailers = "\n".join(f"Nexus-Approval: {token}" for token in tokens)
    run_git(project, "commit", "-q", "--no-verify", "--allow-empty", "-F", "-", stdin=f"x\n\n{trailers}\n")
    return run_git(project, "rev-parse", "HEAD").strip()


def token_of(project: Path, commit: str) -> str:
    found = parse_trailers(run_git(project, "log", "-1", "--format=%B", commit))
    assert found is not None
    return found.approvals[0]


def cut_back(project: Path, nexus: Nexus) -> tuple[str, Key, RunScene]:
    """Revoke a key, approve a change, and return the state of before, the key, and a run of its owner."""
    grace = Key()
    nexus.ok("approver", "add", grace.public, "--name", "Grace", "--confirm", grace.key_id)
    before = state_of(project)
    nexus.ok("approver", "revoke", "Grace")
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    land(project, scene)
    return before, grace, RunScene(project, NEXT)


@pytest.mark.slow
def test_a_newcomer_hears_the_one_real_approval_among_forged_ones(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    old = tighten_policy(project, nexus)
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    real = token_of(project, land(project, scene))
    put_on_top(project, [forge(real, number) for number in range(300)])
    publish(project, "main", f"{old}:{STATE}")
    place = clone()

    begun = nexus("init", place=place)
    nexus.ok("approver", "trust", "--confirm", pin_of(nexus, place), place=place)
    said = nexus("status", place=place).stdout

    assert "commits says" not in begun.stdout + begun.stderr
    assert "policy.md had a version signed" in begun.stdout + begun.stderr
    assert "it is an older version" in said


@pytest.mark.parametrize("signed", few_fast([False, True]))
def test_a_cut_back_list_is_noticed_below_many_statements(
    project: Path, nexus: Nexus, clone: Callable[..., Path], signed: bool
) -> None:
    """A revoked key counts again in a list that was cut back, so what it signs may be what drowns the others."""
    pin = pin_of(nexus)
    before, grace, late = cut_back(project, nexus)
    real = token_of(project, "HEAD")
    evil = late.commit({"b.txt": "b\n"}, signer=grace)
    tree = run_git(project, "rev-parse", f"{evil}^{{tree}}").strip()
    link = pin.split("/")[1]
    made = [
        late.token(f"b{at}", tree, tree, signer=grace, seen=(link, f"f{at} 2026-01-01T00:00:00Z"))
        if signed
        else forge(real, at)
        for at in range(60)
    ]
    run_git(project, "reset", "-q", "--hard", evil)
    tip = put_on_top(project, made)
    late_tip = run_git(project, "commit-tree", "-p", tip, "-m", "x", tree).strip()
    run_git(project, "push", "-q", "--force", "origin", f"{before}:{STATE}", f"{late_tip}:main")
    ci = clone()

    done = nexus("verify", "--root", pin, "HEAD~1..HEAD", place=ci)

    assert done.returncode == 22
    assert "the list of approvers had 3 entries, and has 2" in done.stderr


def test_commits_without_approvals_push_nothing_out_of_what_a_pinned_verify_hears(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    pin = pin_of(nexus)
    before, _, _ = cut_back(project, nexus)
    tip = run_git(project, "rev-parse", "HEAD").strip()
    lines = "".join(
        f"commit refs/heads/main\ncommitter M <m@x> {1_800_000_000 + at} +0000\ndata 1\nx\n"
        + (f"from {tip}\n" if at == 0 else "")
        for at in range(1100)
    )
    run_git(project, "fast-import", "--quiet", "--force", stdin=lines)
    run_git(project, "push", "-q", "--force", "origin", f"{before}:{STATE}", "main")

    done = nexus("verify", "--root", pin, "HEAD~1..HEAD", place=clone())

    assert done.returncode == 22
    assert "the list of approvers had 3 entries, and has 2" in done.stderr


@pytest.mark.slow
def test_a_newer_list_in_the_history_of_the_state_is_found_below_many_commits(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    pin, grace = pin_of(nexus), Key()
    first = state_of(project)
    nexus.ok("approver", "add", grace.public, "--name", "Grace", "--confirm", grace.key_id)
    old = state_of(project)
    nexus.ok("approver", "revoke", "Grace")
    back = state_of(project)
    for tree in [first, old] * 60:
        back = run_git(project, "commit-tree", "-p", back, "-m", "x", f"{tree}^{{tree}}").strip()
    run_git(project, "push", "-q", "origin", f"{back}:{STATE}")

    done = nexus("verify", "--require-approval", "--root", pin, "HEAD", place=clone())

    assert done.returncode == 22
    assert "the list of approvers had 3 entries, and has 2" in done.stderr


def test_the_state_of_another_project_is_not_made_ours_by_a_forged_approval(
    project: Path, nexus: Nexus, server: Path, tmp_path: Path
) -> None:
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    real = token_of(project, land(project, scene))
    other = tmp_path / "other"
    run_git(tmp_path, "init", "-q", str(other))
    nexus.ok("init", place=other)
    _, claims, signature = real.split(".")
    foreign = json.loads((other / ".nexus/format.json").read_text())["id"]
    put_on_top(
        project,
        [f"nx1.{encode_base64(canonical_json({**parse_json(decode_base64(claims)), 'project': foreign}))}.{signature}"],
    )
    publish(project)
    run_git(other, "push", "-q", "--force", str(server), STATE)
    place = tmp_path / "new"
    run_git(tmp_path, "clone", "-q", str(server), str(place))

    begun = nexus("init", place=place)

    assert "the approvals on the branches here are for project" in begun.stdout + begun.stderr


def test_more_forged_approvals_than_are_checked_fail_a_pinned_verify(
    project: Path, nexus: Nexus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be ruled out is an error in CI; who brings a copy of the list needs no commit to tell."""
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    real = token_of(project, land(project, scene))
    put_on_top(project, [forge(real, number) for number in range(20)])
    monkeypatch.setattr(witness, "MOST_FAILED", 10)
    state = open_state(project)
    whose = approvers_for(state, None, pin_of(nexus))

    with pytest.raises(VerificationFailed) as refused:
        verify_range(state, whose, "HEAD~1..HEAD", pinned=True)
    kept = verify_range(state, whose, "HEAD~1..HEAD", pinned=True, kept=True)
    below = verify_range(state, whose, "HEAD~2..HEAD~1", pinned=True)
    doubt = find_doubt(state)
    state.close()

    words = "it cannot be ruled out that the list of approvers is older than it was: "
    assert refused.value.message.startswith(words)
    assert [note.startswith(words) for note in kept.notes] == [True]
    assert (below.ok, below.notes) == (True, ())
    assert doubt.startswith("it cannot be ruled out that this state is older than one that was in force: ")


def test_more_lists_than_are_looked_through_fail_a_pinned_verify(
    project: Path, nexus: Nexus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "MOST_BYTES", 10)
    state = open_state(project)

    with pytest.raises(VerificationFailed) as refused:
        approvers_for(state, None, pin_of(nexus))
    state.close()

    assert refused.value.message.endswith("the state ref has had too many lists and signatures to look through")
