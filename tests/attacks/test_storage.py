"""An agent that prints secrets wherever it can: none of them is in a log, an artifact or an object of any ref."""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from gitnexus.events.artifacts import Artifacts
from gitnexus.events.kinds import redact_event_body
from gitnexus.policy.commit_message import Trailers, format_commit_message
from gitnexus.redaction.stored import holds_secret, redact_file, redact_value
from gitnexus.runs.storable import storable_definition
from gitnexus.state.home import home_folder
from gitnexus.state.secrets import reason_without_secrets, without_secrets
from gitnexus.workflow.run_definition import definition_from_prompt
from tests.conftest import Nexus, run_git
from tests.rows import few_fast

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
PASSWORD = "Tr0ub4dor" + "&3xyz"

# Holds the secrets backwards, so that its own text holds none.
AGENT = """
import os, sys
secrets = [word[::-1] for word in BACKWARDS]
for number, secret in enumerate(secrets[:100]):
    print(f"line {number}: {secret}", flush=True)
    print("x" * 990 + " " + secret, file=sys.stderr, flush=True)
for name in ["done.txt"] + NAMES:
    with open(name, "w") as file:
        file.write("done\\n")
print("the last words: " + " ".join(secrets[100:]), flush=True)
print("x" * 950 + " " + secrets[0], flush=True)
sys.exit(STATUS)
"""


def stored(place: Path) -> dict[str, bytes]:
    """Return all that is kept, by where: every object of every ref, and every file of ours, its name in front."""
    listed = run_git(place, "rev-list", "--objects", "--all", "--reflog").splitlines()
    names = dict((*line.split(" ", 1), "")[:2] for line in listed)
    asked = "\n".join(names).encode()
    raw = subprocess.run(["git", "cat-file", "--batch"], cwd=place, input=asked, capture_output=True, check=True).stdout
    found, at = {}, 0
    while at < len(raw):
        end = raw.index(b"\n", at)
        oid, kind, size = raw[at:end].decode().split()
        found[f"{kind} {oid} {names[oid]}"] = raw[end + 1 : end + 1 + int(size)]
        at = end + int(size) + 2
    git = place / ".git"
    folders = [place / ".nexus", git / "logs", *git.glob("nexus*"), home_folder()]
    files = [path for folder in folders for path in folder.rglob("*")]
    return found | {str(path): path.read_bytes() if path.is_file() else b"" for path in files}


def leaks(place: Path, secrets: list[str]) -> list[tuple[str, str]]:
    """Return the secrets that are stored, or a half of which is, and where."""
    halves = {secret: secret[-len(secret) // 2 :] for secret in secrets}
    texts = {where: where + "\n" + data.decode("utf-8", "replace") for where, data in stored(place).items()}
    everything = "\n".join(texts.values())
    suspects = {secret: half for secret, half in halves.items() if half in everything}
    return [(secret, where) for secret, half in suspects.items() for where, text in texts.items() if half in text]


def leaked(place: Path, secrets: list[str]) -> list[str]:
    """Return the secrets that are stored, or a half of which is."""
    return list(dict(leaks(place, secrets)))


def run_agent(nexus: Nexus, project: Path, status: int = 0, names: list[str] | None = None) -> str:
    """Run the agent that prints all secrets, and take its log to its ref; return the id of the run."""
    text = AGENT.replace("BACKWARDS", repr([word[::-1] for word in SECRETS])).replace("STATUS", str(status))
    wanted = f"[word[::-1] for word in {[name[::-1] for name in names or []]!r}]"
    (project / "agent.py").write_text(text.replace("NAMES", wanted))
    run_git(project, "add", "agent.py")
    run_git(project, "commit", "-qm", "an agent")
    nexus("run", "--", "python3", "agent.py")
    run = str(json.loads(nexus.ok("runs", "--json"))["runs"][0]["id"])
    nexus.ok("checkpoint", run)
    return run


@pytest.mark.parametrize("status", few_fast([0, 3]), ids=["it succeeds", "it fails"])
def test_nothing_that_a_run_printed_is_stored_unredacted(nexus: Nexus, project: Path, status: int) -> None:
    run_agent(nexus, project, status)

    kept = b"".join(stored(project).values())
    assert b"line 99: [" in kept, "the agent did print"
    assert b"the last words: [" in kept
    assert leaked(project, SECRETS) == []


def below_their_names(count: int) -> tuple[list[str], list[str]]:
    """Return texts of several lines with a secret below the line that tells, and the secrets."""
    source = random.Random(13)
    letters = LETTERS + "+/"
    body = ["".join(source.choices(letters, k=64)) for _ in range(count)]
    value = ["".join(source.choices(LETTERS, k=32)) for _ in range(4)]
    kind = "RSA PRIVATE KEY"
    texts = [
        "\n".join([f"-----BEGIN {kind}-----", *body, f"-----END {kind}-----"]),
        f"signing_secret: |\n  {value[0]}",
        f'{{\n  "password":\n    "{value[1]}"\n}}',
        f"- name: DB_PASSWORD\n  value: {value[2]}",
        f"github_token:\n  {value[3]}",
    ]
    return texts, [*body, *value]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_secret_on_the_lines_below_its_name_is_not_stored(nexus: Nexus, project: Path, stream: str) -> None:
    texts, secrets = below_their_names(20)
    backwards = "\n".join(["before it", *texts])[::-1]
    agent = (
        f"import sys\nfor line in {backwards!r}[::-1].split(chr(10)):\n    print(line, file=sys.{stream}, flush=True)\n"
    )
    (project / "agent.py").write_text(agent)
    run_git(project, "add", "agent.py")
    run_git(project, "commit", "-qm", "an agent")

    shown = nexus("run", "--", "python3", "agent.py")
    nexus.ok("checkpoint", str(json.loads(nexus.ok("runs", "--json"))["runs"][0]["id"]))

    assert b'"text":"before it"' in b"".join(stored(project).values()), "the agent did print"
    assert [secret for secret in secrets if secret in shown.stdout + shown.stderr] == []
    assert leaked(project, secrets) == []


def test_a_line_of_a_value_that_the_machine_knows_is_not_stored(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["zebra-Quux-7781-" + word * 3 for word in ("plain", "other", "third")]
    monkeypatch.setenv("MY_TOKEN", "\n".join(lines))

    nexus("run", "--", "python3", "-c", f"print({'|'.join(lines)[::-1]!r}[::-1].replace('|', chr(10)))")
    nexus.ok("checkpoint", str(json.loads(nexus.ok("runs", "--json"))["runs"][0]["id"]))

    assert leaked(project, lines) == []


@pytest.mark.slow
def test_a_secret_in_the_name_of_a_file_is_only_in_the_patch_and_in_what_it_was_approved_as(
    nexus: Nexus, project: Path
) -> None:
    secret = SECRETS[0]
    run = run_agent(nexus, project, names=[f"{secret}.txt"])
    shown = [nexus("diff", run), nexus("runs"), nexus("replay", run)]
    digest = re.search(r"a1@sha256:([0-9a-f]{64})", nexus("review", run).stdout)
    assert digest is not None
    nexus.ok("approve", run, digest[0])
    nexus.ok("checkpoint", run)

    # As with a secret in a file: the commit is the person's, and its request is kept byte for byte, for it was signed.
    places = {where for _, where in leaks(project, [secret])}
    theirs = {where for where in places if where.startswith(("tree ", "blob 19f86f49")) or "/worktrees/" in where}
    assert places - theirs == {where for where in stored(project) if digest[1][:20] in where.replace("/", "")}
    assert [text for one in shown for text in (one.stdout, one.stderr) if secret in text] == []


def claude_calls(nexus: Nexus, project: Path, event: str, **more: object) -> "subprocess.CompletedProcess[str]":
    payload = {"session_id": "s1", "cwd": str(project), "hook_event_name": event, **more}
    return nexus("hook", "harness", "claude-code", event, stdin=json.dumps(payload))


@pytest.mark.parametrize("rule", ["ask", "deny"])
def test_the_answer_of_a_hook_does_not_repeat_a_secret_in_the_name_of_a_file(
    nexus: Nexus, project: Path, sealed: Path, rule: str
) -> None:
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus" / "policy.md").write_text(f"---\nversion: 1\n{rule}:\n- {{name: this, write: ['**']}}\n---\n")
    call = {"file_path": str(project / f"{SECRETS[0]}.txt"), "content": "x\n"}

    answer = claude_calls(nexus, project, "pre_tool_use", tool_name="Write", tool_input=call).stdout

    assert '"deny"' in answer
    assert SECRETS[0] not in answer


def test_what_programs_tell_their_hooks_is_stored_without_its_secrets(nexus: Nexus, project: Path) -> None:
    words = iter(SECRETS)
    nexus.ok("harness", "install", "claude-code")
    files = [str(project / f"{next(words)}.txt") for _ in range(3)]

    claude_calls(nexus, project, "session_start", source="startup")
    claude_calls(nexus, project, "user_message", prompt=f"use {next(words)}")
    for _ in range(2):
        claude_calls(nexus, project, "pre_tool_use", tool_name="Read", tool_input={"file_path": files[0]})
        claude_calls(nexus, project, "pre_tool_use", tool_name="Bash", tool_input={"command": f"make {next(words)}"})
        claude_calls(nexus, project, "pre_tool_use", tool_name="mcp__x__y", tool_input={"q": next(words)})
    for tool, name in (("Write", files[1]), ("Edit", files[2])):
        given = {"file_path": name, "content": next(words), "new_string": next(words)}
        answer = {"said": next(words)}
        claude_calls(nexus, project, "post_tool_use", tool_name=tool, tool_input=given, tool_response=answer)
    failed = {"tool_input": {"command": next(words)}, "error": f"no: {next(words)}"}
    claude_calls(nexus, project, "post_tool_use", tool_name="Bash", **failed)
    claude_calls(nexus, project, "subagent_spawn", tool_name="Task", tool_input={"prompt": next(words)})
    claude_calls(nexus, project, "subagent_complete", last_assistant_message=f"done {next(words)}")
    claude_calls(nexus, project, "session_end", reason="other")

    assert (project / ".nexus" / "state" / "tool-log.jsonl").read_text().count("].txt") == 2
    assert leaks(project, SECRETS) == []


def test_titles_prompts_and_messages_are_stored_without_their_secrets(nexus: Nexus, project: Path) -> None:
    first, second, third, fourth, fifth, sixth = SECRETS[:6]

    nexus.ok("task", "add", f"rotate {first}", "--description", f"it was {second}")
    nexus("run", "--title", f"with {third}", "--", "true")
    nexus("run", f"/plan-exec use {fourth}")
    refused = nexus("run", "--", "curl", "-H", f"Authorization: Bearer {fifth}", "https://example.com")
    paired = nexus("run", "--", "git", "--password", PASSWORD)

    assert refused.returncode == paired.returncode != 0
    assert "looks like a secret" in refused.stderr
    assert leaked(project, [first, second, third, fourth, fifth, PASSWORD]) == []
    assert sixth not in str(storable_definition(definition_from_prompt(f"use {sixth}", "claude")).plain())


def test_an_answer_shows_what_was_stored(nexus: Nexus, project: Path) -> None:
    first, second, third, fourth, fifth, sixth = SECRETS[:6]
    given = json.dumps({"title": f"rotate {fifth}", "notes": [f"was {sixth}"]})

    answers = [
        nexus.ok("task", "add", f"rotate {first}", "--description", f"it was {second}", "--json"),
        nexus.ok("task", "update", "T1", "--note", f"now {third}", "--json"),
        nexus.ok("plan", "start", f"about {fourth}", f"why {first}"),
        nexus.ok("plan", "add", f"what of {second}", "--json"),
        nexus.ok("plan", "decide", "1", f"drop {third}"),
        nexus.ok("tool", "nx_backlog_add", given),
        nexus("memory", "add", "the-key", f"it is {fourth}").stderr,
        nexus("memory", "add", fifth, "some plain words").stdout,
    ]

    assert [secret for secret in SECRETS[:6] if any(secret in text for text in answers)] == []
    assert "[github-token]" in answers[0]
    assert leaked(project, SECRETS[:6]) == []


def test_notes_and_rules_are_stored_without_values_that_the_machine_knows(
    nexus: Nexus, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "zebra-Quux" + "-7781-plain"
    monkeypatch.setenv("MY_TOKEN", value)

    nexus.ok("memory", "add", "where-it-runs", f"the host wants {value} first")
    nexus.ok("rule", "add", f"never print {value}")

    assert leaked(project, [value]) == []
    assert "[known-value]" in nexus.ok("memory", "show", "where-it-runs")


def test_texts_of_events_are_redacted_before_they_are_checked_and_cut() -> None:
    secret = SECRETS[0]

    body = redact_event_body(
        "node.completed", {"node": "main", "summary": "x" * 3990 + f" {secret}", "outputs": [secret]}
    )

    assert secret[:12] not in json.dumps(body)
    assert len(body["summary"]) <= 4000


def test_digests_numbers_and_ids_stay_as_they_are() -> None:
    body = {"action": "a1", "digest": "sha256:" + "ab" * 32, "by": "SHA256:kd8Sg5", "scope": "once", "why": "fine"}

    assert redact_event_body("permission.granted", body) == body


def test_json_stays_json_and_bound_bytes_stay_bytes(tmp_path: Path) -> None:
    secret = SECRETS[1]
    raw = json.dumps({"message": f"key {secret}", "password": PASSWORD, "n": 1}).encode()

    assert json.loads(redact_file("end-main-1.json", raw)).keys() == {"message", "password", "n"}
    assert secret.encode() not in redact_file("end-main-1.json", raw)
    assert PASSWORD[:9].encode() not in redact_file("end-main-1.json", raw)
    artifacts = Artifacts(tmp_path)
    assert artifacts.read(artifacts.write("request-a1.json", raw, exact=True).digest) == raw
    assert secret.encode() not in artifacts.read(artifacts.write("output.log", raw).digest)


def test_a_word_is_a_secret_by_the_word_before_it() -> None:
    assert holds_secret(["mysql", "--password", PASSWORD])
    assert not holds_secret(["git", "log", "--oneline", "main"])
    assert redact_value([{"a": ["plain", 1, None]}]) == [{"a": ["plain", 1, None]}]


def test_state_files_for_people_are_redacted_and_signed_ones_are_not() -> None:
    secret = SECRETS[3]
    raw = json.dumps({"title": f"rotate {secret}"}).encode()

    files = without_secrets({"backlog/T1.json": raw, "policy/signatures.json": raw, "backlog/T2.json": None})

    assert secret.encode() not in (files["backlog/T1.json"] or b"")
    assert (files["policy/signatures.json"], files["backlog/T2.json"]) == (raw, None)
    assert reason_without_secrets("backlog: add T1") == "backlog: add T1"
    assert secret not in reason_without_secrets(f"backlog: add {secret}")


def test_the_message_of_a_commit_holds_no_secret_and_no_half_of_one() -> None:
    secret = SECRETS[2]

    text = format_commit_message(
        f"with {secret}", "x" * 3990 + f" {secret}", Trailers("r1", ("a1",), "command", ("token",))
    )

    assert secret[:20] not in text
    assert text.endswith("Nexus-Approval: token\n")
