"""A patch with a secret that nobody approved: neither its content nor its names leave this machine."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.runs.actions.edit import propose_edited_patch, write_draft
from tests.attacks.machines import Machine
from tests.attacks.test_storage import SECRETS
from tests.conftest import run_git
from tests.rows import few_fast

SECRET = SECRETS[0]
IN_FILE = f"printf %s {SECRET[::-1]} | rev > made.txt"
IN_NAME = f"echo made > $(printf %s {SECRET[::-1]} | rev).txt"
IN_LINK = f"ln -s $(printf %s {SECRET[::-1]} | rev) link.txt"
BOTH = pytest.mark.parametrize("script", few_fast([IN_FILE, IN_NAME]), ids=["in a file", "in a name"])


def objects(place: Path) -> dict[str, bytes]:
    """Return all objects that the refs of a repository reach, with their names in front."""
    names = dict(
        (*line.split(" ", 1), "")[:2] for line in run_git(place, "rev-list", "--objects", "--all").splitlines()
    )
    asked = "\n".join(names).encode()
    raw = subprocess.run(["git", "cat-file", "--batch"], cwd=place, input=asked, capture_output=True, check=True).stdout
    found, at = {}, 0
    while at < len(raw):
        end = raw.index(b"\n", at)
        oid, kind, size = raw[at:end].decode().split()
        found[f"{kind} {oid}"] = names[oid].encode() + b"\n" + raw[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2
    return found


def holders(place: Path) -> list[str]:
    """Return the objects of all refs that hold the secret."""
    return [name for name, data in objects(place).items() if SECRET.encode() in data]


def deny(ada: Machine, run: str) -> None:
    ada.ok("deny", run)


def replace(ada: Machine, run: str) -> None:
    """Edit the waiting patch, so that one without the secret takes its place."""
    with ada.run(run) as open_run:
        draft = write_draft(open_run, "a1")
        draft.write_text(draft.read_text().replace(SECRET, "harmless"))
        assert propose_edited_patch(open_run, "a1") == "a2"
    ada.ok("checkpoint", run)


def wait(ada: Machine, run: str) -> None:
    ada.ok("checkpoint", run)


def archive(ada: Machine, run: str) -> None:
    ada.ok("cancel", run)
    ada.ok("clean", run)


@pytest.mark.parametrize("script", few_fast([IN_FILE, IN_NAME, IN_LINK]), ids=["in a file", "in a name", "in a link"])
@pytest.mark.parametrize("then", [wait, deny, replace, archive])
def test_a_patch_with_a_secret_that_is_not_approved_is_not_pushed(
    ada: Machine, hub: Path, script: str, then: Callable[[Machine, str], None]
) -> None:
    run = ada.begin_waiting_run(script)
    ada.sync()

    then(ada, run)
    ada.sync()

    refs = run_git(hub, "for-each-ref", "--format=%(refname)")
    assert f"refs/nexus/runs/{run}" in refs or "refs/nexus/archive/" in refs
    assert "refs/nexus/local/" not in refs
    assert holders(hub) == []
    assert ("refs/nexus/local/" in run_git(ada.place, "for-each-ref")) == (then is not archive)


@BOTH
def test_the_approval_of_a_withheld_patch_works_where_it_was_proposed_and_nowhere_else(
    ada: Machine, mallory: Machine, hub: Path, script: str
) -> None:
    run = ada.begin_waiting_run(script)
    ada.sync()
    mallory.sync()
    mallory.consent()
    run_git(ada.place, "reflog", "expire", "--expire=now", "--all")
    run_git(ada.place, "gc", "-q", "--prune=now")

    told = mallory("diff", run), mallory("review", run), mallory("approve", run, "--unseen")
    assert all("a1" in one.stdout + one.stderr for one in told), told
    assert "a proposal with a secret stays where it was made" in told[2].stderr
    assert "1 proposal was not carried out and is not on this machine" in mallory("replay", run, "--verify").stderr
    assert "what a1 proposes is not on this machine" in told[0].stdout
    assert "what a1 proposes" not in ada("review", run).stdout
    ada.ok("approve", run, "--unseen")
    ada.ok("replay", run, "--verify")
    ada.sync()
    assert holders(hub) != [], "what was approved is pushed"
    mallory.sync()
    assert "not on this machine" not in mallory("replay", run, "--verify").stderr


def test_a_patch_that_leaves_a_secret_as_it_was_is_pushed_for_review(ada: Machine, mallory: Machine) -> None:
    (ada.place / "old.txt").write_text(f"{SECRET}\n")
    run_git(ada.place, "add", "old.txt")
    run_git(ada.place, "commit", "-qm", "it is committed")
    run_git(ada.place, "push", "-q", "origin", "HEAD")
    run = ada.begin_waiting_run("echo more >> old.txt")
    ada.sync()
    mallory.sync()

    assert "+more" in mallory.ok("diff", run)
