"""What is executed is what was approved: judged once, made again, spent once, written down before and after."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import ApprovalNeeded, Conflict, DeniedByPolicy, Invalid, NexusError, VerificationFailed
from gitnexus.gateway.execute import Act, execute_through_gate
from gitnexus.gateway.table import call_tool
from gitnexus.policy.model import CommandRequest, Request
from tests.conftest import examples, run_git
from tests.gateway.scene import TEXT, Law, bench_at, everything

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def test_an_allowed_action_is_noted_before_and_after(place: Path, law: Law) -> None:
    call_tool(bench_at(place, law), "cmd.run", {"argv": ["echo", "hello"], "summary": "to greet"})

    assert law.kinds == ["action.proposed", "action.started", "action.completed"]
    assert law.events[0][1]["summary"] == "to greet"
    assert law.events[2][1]["answer"]["output"] == "hello\n"
    assert law.spent == ["token-0"]
    assert law.open == {}


def test_a_denied_action_names_the_rule_and_an_approval_does_not_reach_over_it(place: Path, law: Law) -> None:
    law.verdict = "deny"
    law.open["token-x"] = "sha256:anything"

    with pytest.raises(DeniedByPolicy, match="the test's rule") as refused:
        call_tool(bench_at(place, law), "cmd.run", {"argv": ["touch", "pwned"], "approval": "token-x"})

    assert refused.value.context["verdict"] == "deny"
    assert not (place / "pwned").exists()
    assert law.kinds == ["action.proposed", "action.rejected"]


def test_a_verdict_that_is_none_is_a_denial(place: Path, law: Law) -> None:
    law.verdict = "perhaps"  # type: ignore[assignment]

    with pytest.raises(DeniedByPolicy):
        call_tool(bench_at(place, law), "cmd.run", {"argv": ["touch", "pwned"]})

    assert not (place / "pwned").exists()


def test_where_nobody_can_be_asked_the_digest_is_told_and_a_token_for_it_works_once(place: Path, law: Law) -> None:
    law.verdict = "ask"
    bench = bench_at(place, law)
    alone = replace(bench, gate=replace(bench.gate, ask=None))
    with pytest.raises(ApprovalNeeded) as waiting:
        call_tool(alone, "repo.apply_patch", {"patch": PATCH})
    assert (place / "a.txt").read_text() == TEXT
    assert law.kinds == ["action.proposed", "action.waiting"]
    law.open["later"] = waiting.value.context["digest"]

    call_tool(alone, "repo.apply_patch", {"patch": PATCH, "approval": "later"})

    assert (place / "a.txt").read_text() == TEXT.replace("two", "2")
    run_git(place, "checkout", "-q", "a.txt")
    with pytest.raises(VerificationFailed):
        call_tool(alone, "repo.apply_patch", {"patch": PATCH, "approval": "later"})
    assert (place / "a.txt").read_text() == TEXT


def test_a_token_for_one_action_does_not_execute_another(place: Path, law: Law) -> None:
    law.verdict = "ask"
    bench = bench_at(place, law)
    alone = replace(bench, gate=replace(bench.gate, ask=None))
    with pytest.raises(ApprovalNeeded) as waiting:
        call_tool(alone, "cmd.run", {"argv": ["touch", "approved"]})
    others: list[dict[str, Any]] = [
        {"argv": ["touch", "approved", "other"]},
        {"argv": ["touch", "approved"], "cwd": "src"},
        {"argv": ["touch", "approved"], "env": {"LANG": "C"}},
        {"argv": ["touch", "approved"], "stdin": "x"},
        {"argv": ["touch", "approved"], "seconds": 5},
        {"argv": ["touch", "approved"], "network": "loopback"},
    ]
    before = everything(place)

    for other in others:
        law.open["later"] = waiting.value.context["digest"]
        with pytest.raises(VerificationFailed):
            call_tool(alone, "cmd.run", {**other, "approval": "later"})
    for changed in ({"run": "run-2"}, {"project": "project-2"}, {"role": "planner"}):
        law.open["later"] = waiting.value.context["digest"]
        with pytest.raises(VerificationFailed):
            call_tool(replace(alone, **changed), "cmd.run", {"argv": ["touch", "approved"], "approval": "later"})  # type: ignore[arg-type]

    assert everything(place) == before


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(["touch", "true", "echo", "a", "", "-x", "$(x)", "é"]), min_size=1, max_size=4), st.data()
)
def test_whatever_else_is_asked_for_runs_with_no_token_but_its_own(argv: list[str], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.sampled_from(["touch", "true", "echo", "a", "", "-x", "$(x)", "é"]), max_size=4))
    law, ran = Law(), []

    class Deed:
        summary = ""

        def __init__(self, argv: list[str]) -> None:
            self.request = CommandRequest(
                project="p", run="r", argv=tuple(argv), program="/x", program_digest="d", cwd="/", base="", env={},
                limits={},
            )  # fmt: skip

        def prepared(self) -> Any:
            from contextlib import nullcontext

            pair: tuple[Request, Act] = (self.request, lambda: ran.append(self.request.argv) or {})
            return nullcontext(pair)

    from gitnexus.gateway.execute import ExecutionGate
    from tests.gateway.scene import Whole, digest

    door = ExecutionGate(law, digest, law.spend, str, Whole, law.note, law.ask)
    law.open["mine"] = digest(Deed(argv).request)
    try:
        execute_through_gate(door, Deed(other), "mine")
    except VerificationFailed:
        assert other != argv
    assert ran in ([], [tuple(argv)])


def _moved(place: Path) -> None:
    (place / "b.txt").write_text("b\n")
    run_git(place, "add", "-A")
    run_git(place, "commit", "-qm", "meanwhile")


def _rewritten(place: Path) -> None:
    (place / "a.txt").write_text("quite\nother\n")
    run_git(place, "commit", "-qam", "meanwhile")


def _dirty(place: Path) -> None:
    (place / "a.txt").write_text(TEXT + "mine\n")


def _linked(place: Path) -> None:
    (place / "a.txt").unlink()
    (place / "a.txt").symlink_to("src/main.py")


@pytest.mark.parametrize("meanwhile", [_moved, _rewritten, _dirty, _linked])
def test_what_changes_while_a_person_looks_stops_a_patch(
    place: Path, law: Law, meanwhile: Callable[[Path], None]
) -> None:
    law.verdict = "ask"
    law.between = lambda: meanwhile(place)

    with pytest.raises(Conflict) as refused:
        call_tool(bench_at(place, law), "repo.apply_patch", {"patch": PATCH})

    assert refused.value.code == 23
    assert "2" not in (place / "a.txt").read_text()


def _program_replaced(place: Path) -> None:
    (place / "tool").write_text("#!/bin/sh\ntouch pwned\n")


def _folder_to_link(place: Path) -> None:
    shutil.rmtree(place / "work")
    (place / "work").symlink_to("src")


def _folder_to_outside(place: Path) -> None:
    shutil.rmtree(place / "work")
    (place / "work").symlink_to("/")


@pytest.mark.parametrize("meanwhile", [_moved, _program_replaced, _folder_to_link, _folder_to_outside])
def test_what_changes_while_a_person_looks_stops_a_command(
    place: Path, law: Law, meanwhile: Callable[[Path], None]
) -> None:
    (place / "work").mkdir()
    (place / "tool").write_text("#!/bin/sh\ntouch ran\n")
    (place / "tool").chmod(0o755)
    law.verdict = "ask"
    law.between = lambda: meanwhile(place)

    with pytest.raises((Conflict, Invalid)):
        call_tool(bench_at(place, law), "cmd.run", {"argv": ["../tool"], "cwd": "work"})

    assert law.spent == []
    assert not any(name in ("ran", "pwned") for _, _, names in os.walk(place) for name in names)
    assert law.kinds[-1] == "action.rejected"


def test_what_cannot_be_written_down_does_not_happen(place: Path, law: Law) -> None:
    bench = bench_at(place, law)

    def full(kind: str, fields: object) -> None:
        if kind == "action.started":
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        call_tool(replace(bench, gate=replace(bench.gate, note=full)), "cmd.run", {"argv": ["touch", "ran"]})

    assert not (place / "ran").exists()


def test_an_interrupt_leaves_a_note_that_it_may_have_happened(place: Path, law: Law) -> None:
    bench = bench_at(place, law)

    class Interrupted:
        level = "L0"
        environment = bench.confine.environment
        resolved = bench.confine.resolved

        def run(self, *_: object) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_tool(replace(bench, confine=Interrupted()), "cmd.run", {"argv": ["true"]})  # type: ignore[arg-type]

    assert law.kinds == ["action.proposed", "action.started", "action.interrupted"]
    assert law.events[-1][1]["started"] is True


def test_secrets_are_hidden_in_answers_and_events_and_never_in_what_is_applied(place: Path, law: Law) -> None:
    secret = "ghp_" + "a1B2" * 9
    bench = bench_at(place, law)
    patch = PATCH.replace("+2", f"+token = {secret}")

    call_tool(bench, "repo.apply_patch", {"patch": patch, "summary": f"put {secret} in"})
    printed = call_tool(bench, "cmd.run", {"argv": ["cat", "a.txt"]})
    shown = [call_tool(bench, "repo.read_file", {"path": "a.txt"}), call_tool(bench, "git.diff", {}),
             call_tool(bench, "repo.search", {"query": "token"})]  # fmt: skip
    kept = call_tool(bench, "artifact.write", {"filename": "log", "content": f"it is {secret}"})

    assert secret in (place / "a.txt").read_text()
    assert secret not in f"{printed}{shown}{kept}{law.events}"
    assert all(secret not in path.read_text() for path in bench.artifacts.rglob("*") if path.is_file())


def test_output_is_cut_after_it_is_masked(place: Path, law: Law) -> None:
    answer = call_tool(bench_at(place, law), "cmd.run", {"argv": ["head", "-c", "3000000", "/dev/zero"]})

    assert len(answer["output"]) == 2**20
    assert answer["cut"] == 3_000_000 - 2**20


def test_limits_can_only_be_lowered(place: Path, law: Law) -> None:
    call_tool(bench_at(place, law), "cmd.run", {"argv": ["true"], "seconds": 10**9})
    with pytest.raises(NexusError):
        call_tool(bench_at(place, law), "cmd.run", {"argv": ["true"], "seconds": 0})

    request = law.judged[0]
    assert isinstance(request, CommandRequest)
    assert request.limits["seconds"] == 600


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("cmd.run", {"argv": ["true"], "env": {"A": "\ud83d"}}),
        ("cmd.run", {"argv": ["true"], "env": {"A\0": "x"}}),
        ("cmd.run", {"argv": ["true"], "stdin": "\ud83d"}),
        ("cmd.run", {"argv": ["true"], "cwd": "\ud83d"}),
        ("cmd.run", {"argv": ["true"], "cwd": "../"}),
        ("cmd.run", {"argv": ["true"], "cwd": ".git"}),
        ("cmd.run", {"argv": ["true"], "cwd": "a.txt"}),
        ("cmd.run", {"argv": ["true"], "limits": {}}),
        ("artifact.write", {"filename": "../x", "content": "x"}),
        ("artifact.write", {"filename": "x", "content": "\ud83d"}),
        ("repo.nothing", {}),
    ],
)
def test_odd_parameters_are_refused_in_words(place: Path, law: Law, tool: str, params: dict[str, Any]) -> None:
    with pytest.raises(NexusError):
        call_tool(bench_at(place, law), tool, params)

    assert law.judged == []


def test_a_summary_of_halves_of_characters_is_noted_as_something_readable(place: Path, law: Law) -> None:
    call_tool(bench_at(place, law), "cmd.run", {"argv": ["true"], "summary": "\ud83d \udcff"})

    law.events[0][1]["summary"].encode()
