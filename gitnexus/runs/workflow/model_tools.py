"""The tools of the gateway that a model may call while it works on a node: reads of one commit, and tests.

Each call goes through the run's gate, and is one event of its log.
"""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitnexus.adapters.protocol import AgentEvent
from gitnexus.base.errors import ApprovalNeeded, NexusError
from gitnexus.base.text import one_line
from gitnexus.base.tool import input_schema_of
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.assemble import build_tool_context
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.gateway.table import TOOLS, call_tool
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.prompts.call import frame_input
from gitnexus.prompts.chat import ModelToolCall, ToolOffer, ToolResult
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.agent.budget import SpendingLimit, limit_from_budget, why_over_budget
from gitnexus.runs.agent.run import Show
from gitnexus.runs.open_run import OpenRun
from gitnexus.workflow.specialist import WorkOrder

_READS = ("repo.list_tree", "repo.search", "repo.read_file", "git.diff")
_TESTS = "tests.run"
# Not for models: an approval is a person's, and a summary is for the card of one.
_NOT_OFFERED = ("summary", "approval")
_AT = "Without a revision it is the commit on which your work is based."
_WORDS = {
    "repo.list_tree": f"List files. {_AT}",
    "repo.search": f"Find lines in files. {_AT}",
    "repo.read_file": f"Read lines of one file, with secrets hidden. {_AT}",
    "git.diff": "Show the difference between two commits; by default what this run has changed so far.",
    _TESTS: "Run tests on the files as they are now, without your changes. Only what the policy allows is run.",
}
# What a result holds as one long text, which is easier to read outside of JSON.
_BODIES = ("text", "diff", "output")
_INSTEAD = "; if your work needs it, propose it in your answer"
_LARGEST_RESULT = 64 * 1024
_NOT_LOGGED = ("action.proposed", "action.waiting", "action.rejected")
# Of one search, as sources.
_MOST_HITS = 50
_LONGEST_TESTS = 600
# Tests of two nodes would disturb each other in the one worktree.
_testing = threading.Lock()


class RunModelTools:
    """The tools for one call of a model; `tip` is the commit that it reads."""

    def __init__(self, run: OpenRun, order: WorkOrder, tip: str, show: Show) -> None:
        self._run, self._order, self._tip, self._show = run, order, tip, show
        self._limits = _spending_limits(run, order)
        self._calls = 0
        self._sources: dict[str, None] = {}
        self.offers: Sequence[ToolOffer] = [_offer_of(name) for name in (*_READS, _TESTS)]

    @property
    def sources(self) -> Sequence[str]:
        """The references of the files that were read, or in which something was found."""
        return tuple(self._sources)

    def call(self, call: ModelToolCall) -> ToolResult:
        """Judge and carry out a call, and log it. The model is told what goes wrong."""
        name = next(one for one in (*_READS, _TESTS) if model_tool_name(one) == call.name)
        given = self._with_commit(name, dict(call.arguments or {}))
        words = _words_of(given)
        self._show(AgentEvent(kind="tool_call", tool=name, text=_words_of(call.arguments or {})))
        began = time.monotonic()
        try:
            answer, error, why = self._answer(name, given), "", ""
        except NexusError as exc:
            answer, error, why = {}, exc.name, mask(exc.message, known_secret_values())
            why += _INSTEAD if isinstance(exc, ApprovalNeeded) else ""
            self._show(AgentEvent(kind="progress", text=f"{name}: not done: {why}"))
        text = _render_answer(answer) if not why else f"not done: {why}"
        self._log_call(
            name, words, error, why, size=len(text.encode()), milliseconds=int((time.monotonic() - began) * 1000)
        )
        return ToolResult(frame_input(f"what {call.name} gave", text), ok=not why)

    def why_over(self, tokens: int, usd: float | None) -> str:
        """Return which budget of the node or the run is used up, "" if none is."""
        return why_over_budget(self._limits, tokens, usd)

    def _with_commit(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters without those of people; what names no commit reads the one of the work."""
        found = {key: value for key, value in given.items() if key not in _NOT_OFFERED}
        if name == "git.diff":
            return {"revision": self._run.record.base, "to": self._tip, **found}
        left = self._order.seconds_left()
        if name == _TESTS and left is not None and "seconds" not in found:
            return {**found, "seconds": max(1, min(_LONGEST_TESTS, int(left)))}
        return {"revision": self._tip, **found} if name in _READS else found

    def _answer(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        context = self._context()
        if name == _TESTS:
            with _testing:
                return call_tool(context, name, given)
        answer = call_tool(context, name, given)
        paths = [answer.get("path"), *(hit["path"] for hit in answer.get("hits", ())[:_MOST_HITS])]
        self._sources |= {f"file:{path}": None for path in paths if path}
        return answer

    def _context(self) -> ToolContext:
        """Return the run's tool context, which logs what is carried out; what is only read is one event of ours."""
        run = self._run
        gatekeeper, worktree = run.make_gatekeeper(), run.worktree
        recorder = run.make_recorder(gatekeeper, self._order.node.adapter)
        made = build_tool_context(run.state, gatekeeper, recorder, None, run.record.id, self._order.node.role, "policy")

        def note(kind: str, fields: Mapping[str, Any]) -> None:
            # What nobody allowed is no action that could wait for an answer: the model is told why instead.
            if kind != "tool.read" and (kind not in _NOT_LOGGED or fields.get("verdict") == "allow"):
                recorder.note(kind, fields)

        sandbox = WorktreeSandbox(worktree, gatekeeper.here.compiled)
        return replace(made, repo=worktree, confine=sandbox, gate=replace(made.gate, note=note))

    def _log_call(self, name: str, words: str, error: str, why: str, *, size: int, milliseconds: int) -> None:
        self._calls += 1
        body: dict[str, Any] = {
            "tool": name,
            "node": self._order.node.id,
            "ok": not why,
            "what": shorten_text(words, 1000),
            "number": self._calls,
            "bytes": size,
            "milliseconds": milliseconds,
            **({"step": self._order.step} if self._order.step else {}),
            **({"why": shorten_text(why, 1000), "error": error} if why else {}),
        }
        self._run.log.append("tool.called", self._order.node.adapter, body)


def _spending_limits(run: OpenRun, order: WorkOrder) -> tuple[SpendingLimit, ...]:
    view, budgets = run.view(), run.definition().budgets
    whole = limit_from_budget(budgets, view.input_tokens + view.output_tokens, view.cost)
    return whole, limit_from_budget(order.node.budget)


def model_tool_name(name: str) -> str:
    """Return the name by which models know a tool: not every provider takes a dot."""
    return name.replace(".", "_")


def _words_of(given: Mapping[str, Any]) -> str:
    return one_line(mask(json.dumps(given, ensure_ascii=False), known_secret_values()), 300)


def _offer_of(name: str) -> ToolOffer:
    schema = input_schema_of(TOOLS[name])
    left = {key: value for key, value in schema["properties"].items() if key not in _NOT_OFFERED}
    return ToolOffer(model_tool_name(name), _WORDS[name], {**schema, "properties": left})


def _render_answer(answer: Mapping[str, Any]) -> str:
    """Return a result as a line of JSON, with its one long text below it."""
    body = next((name for name in _BODIES if isinstance(answer.get(name), str)), "")
    rest = {key: value for key, value in answer.items() if key != body}
    text = "\n".join(filter(None, [json.dumps(rest, ensure_ascii=False, default=str), str(answer.get(body, ""))]))
    if len(text) <= _LARGEST_RESULT:
        return text
    return f"{text[:_LARGEST_RESULT]}\n(the rest is cut: ask for less, by path, offset or limit)"
