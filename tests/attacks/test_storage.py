"""An agent that prints secrets wherever it can: none of them is in a log, an artifact or an object of any ref."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from gitnexus.events.artifacts import Artifacts
from gitnexus.events.kinds import redacted_body
from gitnexus.redaction.stored import holds_secret, redact_file, redact_value
from gitnexus.runs.definition import of_prompt
from gitnexus.runs.message import Trailers, message
from gitnexus.runs.storable import storable
from gitnexus.state.secrets import without_secrets, without_secrets_in
from tests.conftest import Nexus, run_git

LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def fake_secrets(count: int) -> list[str]:
    """Return made-up tokens of ten forms, the same ones each time."""
    source = random.Random(11)

    def some(alphabet: str, length: int) -> str:
        return "".join(source.choices(alphabet, k=length))

    forms = (
        lambda: "ghp_" + some(LETTERS, 36),
        lambda: "AKIA" + some(UPPER, 16),
        lambda: "sk-ant-api03-" + some(LETTERS, 93) + "AA",
        lambda: "glpat-" + some(LETTERS, 20),
        lambda: "xoxb-" + some("0123456789", 12) + "-" + some("0123456789", 12) + "-" + some(LETTERS, 24),
        lambda: "sk_live_" + some(LETTERS, 24),
        lambda: "npm_" + some(LETTERS, 36),
        lambda: "AIza" + some(LETTERS, 35),
        lambda: "hf_" + some(LETTERS.replace("2", "a"), 34),
        lambda: "ghs_" + some(LETTERS, 36),
    )
    return [forms[number % len(forms)]() for number in range(count)]


SECRETS = fake_secrets(200)

# Holds the secrets backwards, so that its own text holds none.
AGENT = """
import os, subprocess, sys
secrets = [word[::-1] for word in BACKWARDS]
for number, secret in enumerate(secrets[:100]):
    print(f"line {number}: {secret}", flush=True)
    print("x" * 990 + " " + secret, file=sys.stderr, flush=True)
with open("done.txt", "w") as file:
    file.write("done\\n")
print("the last words: " + " ".join(secrets[100:]), flush=True)
print("x" * 950 + " " + secrets[0], flush=True)
sys.exit(STATUS)
"""


def stored(place: Path) -> bytes:
    """Return every object of every ref, and all that lies in files of ours beside them."""
    listed = run_git(place, "rev-list", "--objects", "--all", "--reflog")
    names = "\n".join(line.split()[0] for line in listed.splitlines())
    objects = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=place, input=names.encode(), capture_output=True, check=True
    ).stdout
    files = [path for path in (place / ".git" / "nexus").rglob("*") if path.is_file()]
    files += [path for path in (place / ".git" / "logs").rglob("*") if path.is_file()]
    return objects + b"\n".join(path.read_bytes() for path in files)


def leaked(place: Path, secrets: list[str]) -> list[str]:
    """Return the secrets that are stored, or a half of which is."""
    everything = stored(place).decode("utf-8", "replace")
    halves = ((secret, secret[-len(secret) // 2 :]) for secret in secrets)
    return [secret for secret, half in halves if half in everything]


@pytest.mark.parametrize("status", [0, 3], ids=["it succeeds", "it fails"])
def test_nothing_that_a_run_printed_is_stored_unredacted(nexus: Nexus, project: Path, status: int) -> None:
    text = AGENT.replace("BACKWARDS", repr([word[::-1] for word in SECRETS])).replace("STATUS", str(status))
    (project / "agent.py").write_text(text)
    run_git(project, "add", "agent.py")
    run_git(project, "commit", "-qm", "an agent")

    nexus("run", "--", "python3", "agent.py")
    nexus.ok("checkpoint", json.loads(nexus.ok("runs", "--json"))["runs"][0]["id"])

    assert leaked(project, SECRETS) == []


def test_titles_prompts_and_messages_are_stored_without_their_secrets(nexus: Nexus, project: Path) -> None:
    first, second, third, fourth, fifth, sixth = SECRETS[:6]

    nexus.ok("task", "add", f"rotate {first}", "--description", f"it was {second}")
    nexus("run", "--title", f"with {third}", "--", "true")
    nexus("run", f"Plan and implement: use {fourth}")
    refused = nexus("run", "--", "curl", "-H", f"Authorization: Bearer {fifth}", "https://example.com")
    paired = nexus("run", "--", "git", "--password", "Tr0ub4dor&3xyz")

    assert refused.returncode == paired.returncode != 0
    assert "looks like a secret" in refused.stderr
    assert leaked(project, [first, second, third, fourth, fifth, "Tr0ub4dor&3xyz"]) == []
    assert sixth not in str(storable(of_prompt(f"use {sixth}", "claude")).plain())


def test_texts_of_events_are_redacted_before_they_are_checked_and_cut() -> None:
    secret = SECRETS[0]

    body = redacted_body("node.completed", {"node": "main", "summary": "x" * 3990 + f" {secret}", "outputs": [secret]})

    assert secret[:12] not in json.dumps(body)
    assert len(body["summary"]) <= 4000


def test_digests_numbers_and_ids_stay_as_they_are() -> None:
    body = {"action": "a1", "digest": "sha256:" + "ab" * 32, "by": "SHA256:kd8Sg5", "scope": "once", "why": "fine"}

    assert redacted_body("permission.granted", body) == body


def test_json_stays_json_and_bound_bytes_stay_bytes(tmp_path: Path) -> None:
    secret = SECRETS[1]
    raw = json.dumps({"message": f"key {secret}", "password": "Tr0ub4dor&3xyz", "n": 1}).encode()

    assert json.loads(redact_file("end-main-1.json", raw)).keys() == {"message", "password", "n"}
    assert secret.encode() not in redact_file("end-main-1.json", raw)
    assert b"Tr0ub4dor" not in redact_file("end-main-1.json", raw)
    artifacts = Artifacts(tmp_path)
    assert artifacts.read(artifacts.write("request-a1.json", raw, exact=True).digest) == raw
    assert secret.encode() not in artifacts.read(artifacts.write("output.log", raw).digest)


def test_a_word_is_a_secret_by_the_word_before_it() -> None:
    assert holds_secret(["mysql", "--password", "Tr0ub4dor&3xyz"])
    assert not holds_secret(["git", "log", "--oneline", "main"])
    assert redact_value([{"a": ["plain", 1, None]}]) == [{"a": ["plain", 1, None]}]


def test_state_files_for_people_are_redacted_and_signed_ones_are_not() -> None:
    secret = SECRETS[3]
    raw = json.dumps({"title": f"rotate {secret}"}).encode()

    files = without_secrets({"backlog/T1.json": raw, "policy/signatures.json": raw, "backlog/T2.json": None})

    assert secret.encode() not in (files["backlog/T1.json"] or b"")
    assert (files["policy/signatures.json"], files["backlog/T2.json"]) == (raw, None)
    assert without_secrets_in("backlog: add T1") == "backlog: add T1"
    assert secret not in without_secrets_in(f"backlog: add {secret}")


def test_the_message_of_a_commit_holds_no_secret_and_no_half_of_one() -> None:
    secret = SECRETS[2]

    text = message(f"with {secret}", "x" * 3990 + f" {secret}", Trailers("r1", ("a1",), "command", ("token",)))

    assert secret[:20] not in text
    assert text.endswith("Nexus-Approval: token\n")
