"""Answers a program that asks before each call: proposes each call as an action, and waits for a person if needed.

If nobody answers in time, the program gets a denial with the reason. The action stays waiting, and whoever approves it
later executes it.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

from gitnexus.adapters.live.protocol import LineOutcome, LiveConversation, PendingCall
from gitnexus.adapters.protocol import AgentEnd, AgentEvent
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.git.config import user_config_value
from gitnexus.harness.calls import ShellCall
from gitnexus.policy.model import CommandRequest, Network, Request
from gitnexus.policy.request import request_digest
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.actions import approve, propose
from gitnexus.runs.actions.execute_patch import write_committed_patch
from gitnexus.runs.agent.live_request import (
    answer_without_person,
    command_request_for_shell,
    parse_asked_call,
    patch_request_for_files,
    refused_inner_command,
)
from gitnexus.runs.open_run import OpenRun
from gitnexus.sandbox.stdin_pipe import StdinPipe

PATIENCE = "nexus.approvalWait"
_PATIENCE = 300
_LOOK_EVERY = 0.2
# Limit of requests: a program in a loop must not fill the disk.
_MOST_ASKED = 2000
_NOBODY = "nobody has answered yet; {} waits for a person, and is carried out once it is approved. Continue without it."


class LiveReader:
    """Wraps the reader of a program's output: passes its lines on, and answers its requests."""

    def __init__(self, run: OpenRun, node: str, harness: str, conversation: LiveConversation, network: Network) -> None:
        self.stdin_pipe = StdinPipe()
        self._run, self._node, self._harness, self._conversation, self._network = (
            run,
            node,
            harness,
            conversation,
            network,
        )
        self._patience = _parse_patience(user_config_value(run.repo, PATIENCE))
        self._asked = 0
        # By call id: the action being executed, and the function that releases it.
        self._doing: dict[str, tuple[str, bool, contextlib.ExitStack]] = {}

    def feed(self, line: bytes) -> list[AgentEvent]:
        """Process a line; a request in it is answered when this returns. Raises: NexusError."""
        heard: LineOutcome = self._conversation.feed(line)
        if heard.out:
            self.stdin_pipe.say(heard.out)
        for said in heard.said:
            if said.kind == "tool_result" and said.call in self._doing:
                self._finish_call(said.call, said.ok, said.text)
        for asked in heard.asked:
            yes, why = self._answer_or_refuse(asked)
            self.stdin_pipe.say(self._conversation.answered(asked, yes=yes, why=why))
        if heard.over:
            self.stdin_pipe.end_input()
        return list(heard.said)

    def end(self, status: int) -> AgentEnd:
        """Return how the program ended."""
        return self._conversation.end(status)

    @contextlib.contextmanager
    def open_conversation(self) -> Iterator[None]:
        """Start the conversation, and release everything at the end."""
        try:
            self._finish_last_patch()
            self.stdin_pipe.say(self._conversation.opened())
            yield
        finally:
            self.stdin_pipe.close()
            for call in list(self._doing):
                self._finish_call(call, False, "the program ended before it reported the result")

    def _finish_last_patch(self) -> None:
        """Write the last approved patch to the files, if its program was killed before it did."""
        done = [name for name, one in self._run.view().actions.items() if one.kind == "patch" and one.commit]
        if done:
            write_committed_patch(self._run, done[-1])

    def _answer_or_refuse(self, pending: PendingCall) -> tuple[bool, str]:
        self._asked += 1
        if self._asked > _MOST_ASKED:
            return False, "too much was asked in this run; end here"
        try:
            return self._judge_call(pending)
        except NexusError as exc:
            # Not an action, so it has no name; but the attempt is logged.
            why = mask(f"{exc.message}; {exc.hint}" if exc.hint else exc.message, known_secret_values())
            body = {"action": one_line(pending.tool, 80) or "unknown", "why": shorten_text(why, 1000)}
            self._run.log.append("action.rejected", propose.GATE, body)
            return False, why

    def _judge_call(self, pending: PendingCall) -> tuple[bool, str]:
        call = parse_asked_call(self._run, self._harness, pending)
        if isinstance(call, dict):
            patch = patch_request_for_files(self._run, call, propose.role_of_node(self._run, self._node))
            if patch is None:
                return True, ""  # the files already have this content
            names = ", ".join(change.path for change in patch.changes)
            return self._propose_and_settle(pending, patch, f"{pending.tool}: {names}")
        if (found := answer_without_person(self._run, call)) is not None or not isinstance(call, ShellCall):
            return found or (False, "")
        command = command_request_for_shell(self._run, call, self._network, propose.role_of_node(self._run, self._node))
        return self._propose_and_settle(pending, command, call.text or " ".join(call.argv))

    def _propose_and_settle(self, pending: PendingCall, request: Request, summary: str) -> tuple[bool, str]:
        """Propose a request and have it decided; return whether it is allowed, and the message for the program."""
        run, words = self._run, one_line(mask(summary, known_secret_values()), 200)
        refused = refused_inner_command(run, request) if isinstance(request, CommandRequest) else None
        with contextlib.ExitStack() as held:
            with run.proposing():
                known = self._find_same_patch(request)
                action = known or propose.next_action_name(run)
                if known is None or not run.is_asked_live(action):
                    held.enter_context(run.asking(action))
                if known is None:
                    propose.log_proposal(run, action, request, words, self._node, refused=refused)
            status = self._settle_action(action, held.close)
            if status == "approved":
                approve.spend_token_for_caller(run, action)
            if status in ("approved", "executed"):
                self._begin_call(pending, action, request, held.pop_all())
                return True, ""
        if status == "denied":
            one = run.view().actions[action]
            return False, f"{one.by or 'git nexus'} said no to {action}{': ' + one.why if one.why else ''}"
        return False, _NOBODY.format(action)

    def _find_same_patch(self, request: Request) -> str | None:
        """Return the existing action of an equal patch (same trees). Commands are always new actions."""
        if isinstance(request, CommandRequest):
            return None
        of = request_digest(request)
        return next((name for name, one in self._run.view().actions.items() if one.digest == of), None)

    def _settle_action(self, action: str, let_go: Callable[[], None]) -> str:
        """Return the status of an action, decided by the policy, the user here, or somebody elsewhere in time."""
        run = self._run
        one = run.view().actions[action]
        if one.verdict == "allow" and one.status == "approved":
            approve.execute_if_allowed(run, action)
        elif one.status == "waiting" and run.reviewer is not None:
            run.reviewer(run, action)
        elif one.status == "waiting":
            self._wait_for_answer(action)
        return approve.release_if_waiting(run, action, let_go)

    def _wait_for_answer(self, action: str) -> None:
        """Wait until somebody answers in another terminal, or the timeout."""
        until = time.monotonic() + self._patience
        seen = -1
        while time.monotonic() < until:
            last = self._run.log.last()
            if last is not None and last.seq != seen:
                seen = last.seq
                view = self._run.view()
                if view.actions[action].status != "waiting" or view.status == "cancelled":
                    return
            time.sleep(_LOOK_EVERY)

    def _begin_call(self, pending: PendingCall, action: str, request: Request, held: contextlib.ExitStack) -> None:
        """Mark that the program executes the action; write the file here if it asks us to."""
        is_command = isinstance(request, CommandRequest)
        if pending.performs or not pending.call:
            held.close()
            if not is_command:
                write_committed_patch(self._run, action)
            return
        if pending.call in self._doing:
            self._finish_call(pending.call, False, "the program continued without reporting the result")
        self._doing[pending.call] = (action, is_command, held)

    def _finish_call(self, call: str, ok: bool, told: str) -> None:
        action, is_command, held = self._doing.pop(call)
        with held:
            if not is_command:
                write_committed_patch(self._run, action)
                return
            body = {
                "action": action,
                "tool": "cmd.run",
                "ok": ok,
                "result": shorten_text(mask(told, known_secret_values()), 2000),
            }
            self._run.log.append("tool.executed", self._run.record.agent, body)


def _parse_patience(said: str | None) -> float:
    return float(said) if said and said.isdecimal() else _PATIENCE
