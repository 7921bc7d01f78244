"""What a model writes appears while it writes it: bounded in the log, and never with a secret, however it is split."""

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from gitnexus.adapters.protocol import AgentEvent
from gitnexus.prompts.exchange import replay_exchange
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.open_run import open_run
from gitnexus.runs.store import run_ids
from gitnexus.runs.workflow.model_output import ModelOutput
from gitnexus.runs.workflow.model_session import exchange_document
from gitnexus.workflow.definition import WorkflowNode
from tests.conftest import Nexus
from tests.prompts.stub import Stub, served
from tests.runs.workflow.test_model_tools import BLOCK, DONE, events_of, set_model
from tests.runs.workflow.test_workflow import opened
from tests.waiting import wait_until

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
VALUE = "correct-" + "horse-battery"
NODE = WorkflowNode(id="N1", type="exec", specialist="executor", adapter="model")
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA\n" * 5 + "-----END RSA PRIVATE KEY-----"


class Log:
    """A log in memory."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def append(self, kind: str, actor: str, body: dict[str, Any]) -> None:
        assert kind == "agent.progress"
        self.bodies.append(body)


class Run:
    def __init__(self) -> None:
        self.log = Log()


def output_of(pieces: list[str], seconds: float = 0.3) -> tuple[list[str], list[str]]:
    """Return what is shown and what becomes events; a piece comes every so many seconds."""
    run, shown, now = Run(), list[AgentEvent](), [0.0]
    output = ModelOutput(run, NODE, shown.append, lambda: now[0])  # type: ignore[arg-type]
    for piece in pieces:
        now[0] += seconds
        output.feed(piece)
    output.finish()
    return [one.text for one in shown], [body["text"] for body in run.log.bodies]


def test_lines_are_shown_as_they_end_and_events_are_at_most_one_a_second() -> None:
    shown, logged = output_of([f"line {n}\n" for n in range(10)])

    assert shown == [f"line {n}" for n in range(10)]
    assert logged == ["line 0", "line 1\nline 2\nline 3\nline 4", "line 5\nline 6\nline 7\nline 8", "line 9"]


def test_the_events_of_one_call_are_bounded() -> None:
    _, logged = output_of([f"{'x' * 3000} {n}\n" for n in range(500)], seconds=2)

    assert len(logged) == 100
    assert max(map(len, logged)) <= 4000


@pytest.mark.parametrize("is_json", [True, False])
def test_a_secret_that_is_split_over_pieces_is_not_shown(is_json: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", VALUE)
    known_secret_values.cache_clear()
    text = f"before\nthe token is {TOKEN} and\n{KEY}\nthe password {VALUE} is it\nafter"
    whole = json.dumps({"summary": text}, ensure_ascii=False) if is_json else text
    chance = random.Random(20261119)
    try:
        for _ in range(60):
            pieces, at = [], 0
            while at < len(whole):
                size = chance.randint(1, 9)
                pieces.append(whole[at : at + size])
                at += size
            shown, logged = output_of([*pieces, ""], chance.choice([0.01, 0.5, 2]))
            for said in ("\n".join(shown), "\n".join(logged)):
                assert TOKEN[:12] not in said
                assert VALUE[:9] not in said
                assert "MIIEpAIB" not in said
                assert "before" in said and "after" in said and "[github-token]" in said
    finally:
        known_secret_values.cache_clear()


def test_escapes_do_not_hide_a_secret() -> None:
    hidden = "".join(f"\\u{ord(ch):04x}" for ch in TOKEN)

    shown, _ = output_of([f'{{"summary": "it is {hidden}"}}', ""])

    assert shown == ["summary: it is [github-token]"]


def begin(nexus: Nexus, stub: Stub, project: Path) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    set_model(project, stub.url)
    thread = threading.Thread(target=lambda: found.append(nexus("run", "/exec correct the total in code.txt")))
    thread.start()
    return thread, found


def test_what_is_written_is_in_the_log_before_the_answer_has_ended(nexus: Nexus, project: Path) -> None:
    answer = json.dumps({**DONE, "summary": f"it was 1\nit is {TOKEN}\nit is|2"})
    with served(f"paced:{answer}") as stub:
        thread, found = begin(nexus, stub, project)

        def said() -> list[str]:
            with opened(project) as state:
                runs = run_ids(state.required())
            return [e.body["text"] for run in runs for e in events_of(project, run, "agent.progress")
                    if e.actor == "model"]  # fmt: skip

        early = wait_until("what the model wrote", said)
        stub.go.set()
        thread.join()

    assert early[0].startswith("status: done")
    assert "it is2" not in "\n".join(early)
    assert "  │ status: done\n" in found[0].stderr
    assert "  │ it is [github-token]\n" in found[0].stderr
    assert TOKEN not in found[0].stderr + "".join(said())


def test_an_exchange_that_is_very_large_is_kept_with_its_texts_cut_and_can_be_gone_through() -> None:
    call = {
        "id": "c",
        "name": "read",
        "arguments": {"path": "x" * 5000},
        "ok": True,
        "refused": "",
        "result": "y" * 2**20,
    }
    turns = [{"text": '{"a": "' + "z" * 2**20, "ended": "stop", "tokens": [1, 2], "calls": [call] * calls}
             for calls in (16, 3, 0)]  # fmt: skip
    exchange = {"version": 1, "function": "ExecStep", "model": "m", "messages": [], "turns": turns}

    raw = exchange_document(exchange)

    assert len(raw) < 2**20
    assert replay_exchange(json.loads(raw)) == replay_exchange(exchange)


def test_the_whole_exchange_is_kept_without_secrets(nexus: Nexus, project: Path) -> None:
    secret = {**DONE, "summary": f"it is {TOKEN}", "actions": [{"kind": "patch", "summary": "s", "diff": BLOCK}]}
    with served(secret) as stub:
        set_model(project, stub.url)
        run = json.loads(nexus("run", "/exec correct the total in code.txt", "--json").stdout)["run"]["id"]

    written = [event.body for event in events_of(project, run, "artifact.written")]
    exchange = next(one for one in written if one["name"].startswith("exchange-"))
    kept = nexus.ok("artifacts", run, exchange["digest"])
    whole = json.loads(kept)
    assert exchange["name"] == f"exchange-{whole['node']}.json"
    assert (whole["function"], whole["model"], len(whole["turns"])) == ("ExecStep", "m", 1)
    assert TOKEN not in kept
    assert "total = 2" in whole["turns"][0]["text"]
    with opened(project) as state:
        assert all(TOKEN.encode() not in path.read_bytes() for path in open_run(state, run).folder.rglob("*")
                   if path.is_file())  # fmt: skip
