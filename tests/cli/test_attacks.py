"""Attacks on the commands of a person, by their numbers: what a repository's config would run, and stray keys."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from gitnexus.git.child import run_git_or_raise
from tests.conftest import Nexus, run_git

STATE = "refs/nexus/state"


def signed_by_nobody(project: Path) -> None:
    """Put a commit on top of the state that claims a signature, so that git has something to check."""
    raw = subprocess.run(["git", "cat-file", "commit", STATE], cwd=project, capture_output=True, check=True).stdout
    tip = run_git(project, "rev-parse", STATE).strip().encode()
    head, _, message = raw.partition(b"\n\n")
    rows = [row for row in head.split(b"\n") if not row.startswith(b"parent ")]
    rows.insert(1, b"parent " + tip)
    rows.append(b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----")
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"], cwd=project, check=True, capture_output=True,
        input=b"\n".join(rows) + b"\n\n" + message,
    ).stdout.decode().strip()  # fmt: skip
    run_git(project, "update-ref", STATE, made)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"gpg.program": "{evil}"}, id="151-gpg.program"),
        pytest.param({"gpg.openpgp.program": "{evil}"}, id="151-gpg.openpgp.program", marks=pytest.mark.slow),
        pytest.param({"gpg.format": "ssh", "gpg.ssh.program": "{evil}"}, id="151-gpg.ssh.program"),
        pytest.param({"gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": "{evil}"}, id="151-defaultKeyCommand"),
    ],
)
def test_no_program_that_git_would_sign_or_check_with_is_started(
    project: Path, nexus: Nexus, tmp_path: Path, settings: dict[str, str]
) -> None:
    mark, evil = tmp_path / "mark", tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\necho ran >> '{mark}'\nexit 1\n")
    evil.chmod(0o755)
    signed_by_nobody(project)
    for key, value in {**settings, "commit.gpgSign": "true", "log.showSignature": "true"}.items():
        run_git(project, "config", key, value.format(evil=evil))

    nexus.ok("memory", "add", "pattern-release", "Tag first, then publish.")
    for words in (("log",), ("status",), ("doctor",), ("memory", "log"), ("policy", "show"), ("task", "list")):
        nexus(*words)
    (project / ".nexus" / "rules").mkdir(exist_ok=True)
    (project / ".nexus" / "rules" / "by-hand.md").write_text("# By hand\n")
    nexus.ok("status")
    # However one of our own questions is asked: the way they all go is what keeps the program away.
    run_git_or_raise("log", "--format=%s", STATE, git_dir=project / ".git")

    assert not mark.exists()


def at_terminal(place: Path, argv: list[str], typed_ahead: bytes, until: bytes, then: bytes) -> tuple[int, bytes]:
    """Run a command at a terminal whose keyboard was touched before the question came."""
    master, slave = pty.openpty()
    os.write(master, typed_ahead)
    child = subprocess.Popen(argv, cwd=place, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    said, answered = b"", False
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # the other side is closed
            break
        said += piece
        if not piece:
            break
        if until in said and not answered:
            answered = True
            os.write(master, then)
    os.close(master)
    return child.wait(), said


@pytest.mark.parametrize(
    ("ahead", "then", "signs"),
    [
        pytest.param(b"y\ny\ny\n", b"\n", False, id="146-typed-ahead"),
        pytest.param(b"\n\n\n\n", b"\n", False, id="146-enter-held-down"),
        pytest.param(b"", b"yes, all of it\nn\n", False, id="146-no-clear-yes"),
        pytest.param(b"n\n", b"y\n", True, id="146-a-yes-to-the-question"),
    ],
)
def test_only_what_is_typed_after_the_question_is_an_answer(
    project: Path, nexus: Nexus, ahead: bytes, then: bytes, signs: bool
) -> None:
    nexus.ok("policy", "add", "allow", "--write", "src/**")
    before = run_git(project, "rev-parse", STATE)

    status, said = at_terminal(project, ["git", "nexus", "policy", "trust"], ahead, b"Sign this?", then)

    assert b"[y/N]" in said
    assert (status == 0) is signs
    assert (run_git(project, "rev-parse", STATE) != before) is signs
