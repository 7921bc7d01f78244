"""A state that is not the one it should be: of another project, or an older one with its old signatures."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.policy.keys import own_signer
from tests.attacks.conftest import STATE
from tests.conftest import Nexus, run_git, trust
from tests.policy.signing import Key
from tests.runs.scene import RUN, RunScene

NEXT = "261116-1504-m2qa"
OPEN = "---\nversion: 1\nallow:\n- write: ['**']\n---\n"


def pin_of(nexus: Nexus, place: Path | None = None) -> str:
    return str(json.loads(nexus.ok("approver", "list", "--json", place=place))["pin"])


def publish(project: Path, *refs: str) -> None:
    run_git(project, "push", "-q", "--force", "origin", *(refs or ("main", STATE)))


def state_of(place: Path) -> str:
    return run_git(place, "rev-parse", STATE).strip()


def tighten_policy(project: Path, nexus: Nexus) -> str:
    """Sign a policy that allows much and then one that does not; return the state in between."""
    (project / ".nexus/policy.md").write_text(OPEN)
    nexus.ok("status")
    trust(project)
    old = state_of(project)
    (project / ".nexus/policy.md").write_text("---\nversion: 1\n---\n")
    nexus.ok("status")
    trust(project)
    return old


def land(project: Path, scene: RunScene) -> str:
    run_git(project, "merge", "-q", "--ff-only", f"nexus/{scene.id}")
    return run_git(project, "rev-parse", "HEAD").strip()


def test_the_state_of_another_project_of_the_same_person_approves_nothing(
    project: Path, nexus: Nexus, clone: Callable[..., Path], tmp_path: Path
) -> None:
    """18.2: its first approver is the same key, and its tokens are real; only the project is another."""
    pin = pin_of(nexus)
    other = tmp_path / "other"
    run_git(tmp_path, "clone", "-q", str(project), str(other))
    run_git(other, "remote", "remove", "origin")
    nexus.ok("init", place=other)
    foreign = RunScene(other)
    foreign.commit({"foreign.txt": "x\n"})
    run_git(other, "push", "-q", "--force", str(tmp_path / "server.git"), STATE, f"nexus/{RUN}:main")
    ci = clone()
    asked = ("verify", "--require-approval", f"{foreign.base}..HEAD", "--root")

    pinned = nexus(*asked, pin, place=ci)
    by_key = nexus(*asked, own_signer_of(pin), place=ci)

    assert pinned.returncode == 22
    assert "--root pins" in pinned.stderr
    assert by_key.returncode == 0
    assert "another project of the same person would pass" in by_key.stderr


def own_signer_of(pin: str) -> str:
    return pin.split("/", 2)[2]


def test_the_pinned_string_passes_what_is_approved_and_warns_of_nothing(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    pin = pin_of(nexus)
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    land(project, scene)
    publish(project)

    done = nexus("verify", "--require-approval", "--root", pin, f"{scene.base}..HEAD", place=clone())

    assert (done.returncode, done.stderr) == (0, "")
    assert pin.startswith(json.loads((project / ".nexus/format.json").read_text())["id"] + "/1.")
    assert pin.endswith("/" + own_signer_of(pin))


@pytest.mark.parametrize(
    "text", ["", "x", "nx", "../../1.0123456789abcdef/nx:x", "a/1.0123/nx:x", "a/1.0123456789abcdef/x"]
)
def test_what_pins_nothing_is_refused_and_not_taken_for_a_key(project: Path, nexus: Nexus, text: str) -> None:
    """An empty one too: a variable of CI that is not set would pin nothing."""
    done = nexus("verify", "--root", text)

    assert done.returncode == 6
    assert "names a key alone" not in done.stderr


def test_a_pin_without_a_link_of_the_list_is_none(project: Path, nexus: Nexus) -> None:
    identity, _, key = pin_of(nexus).split("/", 2)

    assert nexus("verify", "--root", f"{identity}/0.0000000000000000/{key}").returncode == 6


def test_a_list_cut_back_to_before_a_revocation_is_refused_by_a_pin_that_is_newer(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    old = state_of(project)
    grace = Key()
    nexus.ok("approver", "add", grace.public, "--name", "Grace", "--confirm", grace.key_id)
    pin = pin_of(nexus)
    run_git(project, "push", "-q", "--force", "origin", f"{old}:{STATE}")

    done = nexus("verify", "--root", pin, "HEAD", place=clone())

    assert done.returncode == 22
    assert "entry 2" in done.stderr


def test_a_machine_that_verified_with_a_longer_list_takes_no_shorter_one(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    pin, grace = pin_of(nexus), Key()
    nexus.ok("approver", "add", grace.public, "--name", "Grace", "--confirm", grace.key_id)
    before = state_of(project)
    nexus.ok("approver", "revoke", "Grace")
    publish(project)
    ci = clone()
    good = nexus("verify", "--root", pin, "HEAD", place=ci)
    run_git(ci, "update-ref", STATE, before)

    done = nexus("verify", "--root", pin, "HEAD", place=ci)

    assert good.returncode == 0, good.stderr
    assert done.returncode == 22
    assert "are gone from the list" in done.stderr


def test_the_commits_tell_a_machine_without_memory_that_the_list_was_cut_back(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    pin, grace = pin_of(nexus), Key()
    nexus.ok("approver", "add", grace.public, "--name", "Grace", "--confirm", grace.key_id)
    before = state_of(project)
    nexus.ok("approver", "revoke", "Grace")
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    land(project, scene)
    late = RunScene(project, NEXT)
    evil = late.commit({"b.txt": "b\n"}, signer=grace)
    run_git(project, "push", "-q", "--force", "origin", f"{before}:{STATE}", f"{evil}:main")
    ci = clone()

    done = nexus("verify", "--require-approval", "--root", pin, "HEAD~1..HEAD", place=ci)

    assert done.returncode == 22
    assert "the list of approvers had 3 entries, and has 2" in done.stderr


def test_a_newcomer_notices_an_old_policy_put_back_with_its_old_signature(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    """18.2: the state ref is put back as a whole; what an approver signed on main tells that more was there."""
    old = tighten_policy(project, nexus)
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    land(project, scene)
    root = own_signer().key_id
    publish(project)
    run_git(project, "push", "-q", "--force", "origin", f"{old}:{STATE}")
    place = clone()

    begun = nexus("init", place=place)
    by_key = nexus("approver", "trust", "--confirm", root, place=place)
    listed = nexus("approver", "trust", "--confirm", pin_of(nexus, place), place=place)
    policy = json.loads(nexus("doctor", "--json", place=place).stdout)

    assert "this state is older than one that was in force" in begun.stdout + begun.stderr
    assert "policy.md had a version signed" in begun.stdout + begun.stderr
    assert (by_key.returncode, "may be an older one" in by_key.stderr) == (22, True)
    assert "look twice: this state is older than one that was in force" in listed.stderr
    assert listed.returncode == 0
    said = json.dumps(policy)
    assert "policy.md is not in force: it is an older version" in said
    assert "this state is older than one that was in force" in said


def test_another_clone_on_the_same_machine_knows_the_newer_policy_too(
    project: Path, nexus: Nexus, server: Path, tmp_path: Path
) -> None:
    old = tighten_policy(project, nexus)
    run_git(project, "push", "-q", "--force", "origin", f"{old}:{STATE}")
    shutil.rmtree(project)
    place = tmp_path / "again"
    run_git(tmp_path, "clone", "-q", str(server), str(place))
    nexus.ok("init", place=place)

    said = nexus("doctor", "--json", place=place).stdout

    assert "policy.md is not in force: it is an older version" in said


def test_what_cannot_be_ruled_out_is_said_to_a_newcomer(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    pin, place = pin_of(nexus), clone()

    begun = nexus("init", place=place)

    assert "an older state that was put back would look the same" in begun.stdout + begun.stderr
    assert pin in begun.stdout + begun.stderr


def test_a_newcomer_notices_that_the_state_is_of_another_project(
    project: Path, nexus: Nexus, server: Path, tmp_path: Path
) -> None:
    """Whose approvers count on this machine already, since it has a clone of that other project."""
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"})
    land(project, scene)
    publish(project)
    other = tmp_path / "other"
    run_git(tmp_path, "init", "-q", str(other))
    nexus.ok("init", place=other)
    run_git(other, "push", "-q", "--force", str(server), STATE)
    place = tmp_path / "new"
    run_git(tmp_path, "clone", "-q", str(server), str(place))

    begun = nexus("init", place=place)

    assert "the approvals on the branches here are for project" in begun.stdout + begun.stderr
    assert json.loads(nexus.ok("approver", "list", "--json", place=place))["counts"] is False


def test_a_repository_that_took_the_id_of_a_known_project_gets_no_signature(
    project: Path, nexus: Nexus, tmp_path: Path
) -> None:
    """Else its author would have a second list for that project, begun by the same key."""
    bait = tmp_path / "bait"
    run_git(tmp_path, "clone", "-q", str(project), str(bait))
    run_git(bait, "remote", "remove", "origin")
    run_git(bait, "fetch", "-q", str(project), f"{STATE}:{STATE}")
    tree = run_git(bait, "ls-tree", STATE).splitlines()
    kept = "".join(f"{row}\n" for row in tree if not row.endswith(("\tapprovers", "\tpolicy", "\tpolicy.md")))
    made = run_git(bait, "commit-tree", "-m", "init: begin", run_git(bait, "mktree", stdin=kept).strip()).strip()
    run_git(bait, "update-ref", STATE, made)

    begun = nexus("init", place=bait)

    assert "you would sign for both" in begun.stdout + begun.stderr
    assert "approvers" not in run_git(bait, "ls-tree", "--name-only", STATE).split()


def test_a_forged_statement_stops_nobody(project: Path, nexus: Nexus, clone: Callable[..., Path]) -> None:
    """What says that more was there counts only from a key that counts."""
    pin = pin_of(nexus)
    scene = RunScene(project)
    scene.commit({"a.txt": "a\n"}, signer=Key(), seen=("9.0123456789abcdef", "policy.md 2999-01-01T00:00:00.000000Z"))
    made = land(project, scene)
    publish(project)

    done = nexus("verify", "--json", "--root", pin, f"{scene.base}..HEAD", place=clone())

    assert [row["status"] for row in json.loads(done.stdout)["commits"]] == ["invalid"]
    assert json.loads(done.stdout)["tip"] == made


@pytest.mark.parametrize("as_merge", [False, True])
def test_a_newcomer_notices_an_old_policy_committed_on_top_of_the_newer_one(
    project: Path, nexus: Nexus, clone: Callable[..., Path], as_merge: bool
) -> None:
    """No push is forced, and no commit on a branch says anything; a merge hides the newer one from a plain git log."""
    old = tighten_policy(project, nexus)
    parents = ("-p", old, "-p", state_of(project)) if as_merge else ("-p", state_of(project))
    back = run_git(project, "commit-tree", *parents, "-m", "sync: merge", f"{old}^{{tree}}").strip()
    run_git(project, "push", "-q", "origin", f"{back}:{STATE}")
    place = clone()

    begun = nexus("init", place=place)
    said = nexus("doctor", "--json", place=place).stdout

    assert "policy.md had a version signed" in begun.stdout + begun.stderr
    assert "policy.md had a version signed" in said


def test_a_newcomer_notices_a_list_without_a_revocation_on_top_of_the_newer_one(
    project: Path, nexus: Nexus, clone: Callable[..., Path]
) -> None:
    first, grace = pin_of(nexus), Key()
    nexus.ok("approver", "add", grace.public, "--name", "Grace", "--confirm", grace.key_id)
    old = state_of(project)
    nexus.ok("approver", "revoke", "Grace")
    back = run_git(project, "commit-tree", "-p", state_of(project), "-m", "x", f"{old}^{{tree}}").strip()
    run_git(project, "push", "-q", "origin", f"{back}:{STATE}")

    place = clone()

    verified = nexus("verify", "--root", first, "HEAD", place=place)
    begun = nexus("init", place=place)

    assert verified.returncode == 22
    assert "the list of approvers had 3 entries, and has 2" in verified.stderr
    assert "the list of approvers had 3 entries, and has 2" in begun.stdout + begun.stderr
