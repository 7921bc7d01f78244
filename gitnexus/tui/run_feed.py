"""Reports what the runs do: events as lines, waiting actions as cards, and which agents still work."""

import contextlib
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitnexus.base.errors import Conflict, NexusError, NotFound
from gitnexus.base.text import one_line, visible_bytes
from gitnexus.events.model import Event
from gitnexus.events.view import ActionView, RunView
from gitnexus.gateway.testrun.table import RUNNERS
from gitnexus.runs.actions.card import action_card
from gitnexus.runs.claimed_decisions import claimed_decisions
from gitnexus.runs.drive import displayed_status
from gitnexus.runs.prepare import failed_in_setup
from gitnexus.runs.workflow.answer import answer_of_run
from gitnexus.tui import news
from gitnexus.tui.cards import card_for_action, card_for_failure, card_for_question, card_for_tests
from gitnexus.tui.watch import NewRunEvents, has_run_ended
from gitnexus.ui.runs import FOREIGN
from gitnexus.ui.workflow import format_research_answer
from gitnexus.workflow.definition import OUTPUTS

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

_RAW = 20_000
SET_UP = "the set-up"
_KEPT = frozenset(name for names in OUTPUTS.values() for name in names)


class RunFeed:
    """Turns the events that the watch finds into entries and cards of the chat."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self._times = news.StepTimes()
        self.driven: set[str] = set()
        # Runs whose driver was started and has not come up yet, and until when that is waited for.
        self.expected: dict[str, float] = {}

    def look(self) -> None:
        """Report new events."""
        for seen in self._chat.watch.look():
            for event in seen.events:
                self._times.note(seen.run, event)
            self._report_first_sight(seen) if seen.first else self._report_progress(seen)
            self.update_cards(seen.run, seen.view)
        self._update_drivers()

    def status(self, run: str) -> str:
        """Return the status of a run; a run without a driver has stopped."""
        view = self._chat.watch.views.get(run)
        if view is None:
            return ""
        if has_run_ended(view):
            return view.status
        in_order = False
        with contextlib.suppress(NotFound):  # its log may be seen before its record
            in_order = self._chat.open_run(run).left_in_order()
        return str(displayed_status(view, driven=run in self.driven, in_order=in_order))

    def show_trace(self) -> None:
        """Show the delegation graph of the watched runs."""
        chat = self._chat
        chat.say("nexus", "the trace is on: every event, raw messages and times are shown")
        for run, view in chat.watch.views.items():
            chat.say(
                "trace", news.format_delegation_graph(run, view, self._workflow_edges(run), self._times.of(run)), run
            )

    def update_cards(self, run: str, view: RunView) -> None:
        """Update the cards of a run from its log."""
        over = has_run_ended(view)
        for action, one in view.actions.items():
            self._update_action_card(run, action, one, over=over)
        for question, text in view.questions.items():
            known = self._chat.cards.get(f"{run} {question}")
            if known is None or known.settled:
                self._chat.put(card_for_question(run, question, text))
        for card in list(self._chat.cards.values()):
            asked = card.run == run and card.kind == "question"
            if asked and card.action not in view.questions and card.settled != "answered":
                self._chat.put(replace(card, settled="answered"))
            # By now the run may wait again, or even be over.
            if card.run == run and card.kind == "error" and card.waits and view.status != "failed":
                self._chat.put(replace(card, settled="tried again"))

    def _update_action_card(self, run: str, action: str, one: ActionView, *, over: bool) -> None:
        known = self._chat.cards.get(f"{run} {action}")
        if not over and _waits_for_approval(one):
            if known is None or known.settled or known.digest != one.digest:
                self._show_action_card(run, action, one)
        elif known is not None:
            words = _describe_outcome(one, over=over)
            if words and self._is_unsigned_outcome(run, action):
                words = f"claimed to be {words}, not signed"
            if words and words != known.settled:
                self._chat.put(replace(known, settled=words))

    def _is_unsigned_outcome(self, run: str, action: str) -> bool:
        """Return True if no known machine signed the outcome of an action."""
        try:
            return action in claimed_decisions(self._chat.open_run(run)).actions
        except NexusError:
            return False

    def _report_first_sight(self, seen: NewRunEvents) -> None:
        waits = seen.view.questions or any(_waits_for_approval(one) for one in seen.view.actions.values())
        if seen.view.session and not waits:
            return  # somebody's program, at work or long gone: it has nothing to say here
        if not has_run_ended(seen.view):
            self._chat.active = seen.run
        elif failed_in_setup(seen.view):
            self._chat.put(card_for_failure(seen.run, SET_UP, seen.view.why, resumable=True))
        status = self.status(seen.run)
        self._chat.say("nexus", f"{seen.run} is {status}: {one_line(seen.view.task, 200)}", seen.run)
        self._report_origin(seen.run)

    def _report_progress(self, seen: NewRunEvents) -> None:
        chat, run = self._chat, seen.run
        if seen.events[0].kind == "workflow.started" and run not in chat.mine and not chat.active:
            chat.active = run
        if seen.events[0].kind == "workflow.started":
            self._report_origin(run)
        for event in seen.events:
            for entry in news.entries_for_event(run, event):
                chat.show(entry)
            self._show_event_card(run, event)
        if chat.trace:
            self._show_trace(seen)
        if has_run_ended(seen.view) and any(event.kind == "run.finished" for event in seen.events):
            self._show_answer(run)
            for entry in news.entries_for_end(run, seen.view):
                chat.show(entry)
            if failed_in_setup(seen.view):
                chat.put(card_for_failure(run, SET_UP, seen.view.why, resumable=True))
            self._remember_result(run, seen.view)

    def _show_answer(self, run: str) -> None:
        """Show what a run of this conversation found out, with its references."""
        if run not in self._chat.mine:
            return
        try:
            found = answer_of_run(self._chat.open_run(run))
        except NexusError:
            return
        if found is not None:
            self._chat.say("agent", format_research_answer(found), run)

    def _report_origin(self, run: str) -> None:
        if self.is_foreign(run):
            self._chat.say("nexus", f"{run} is {FOREIGN}", run)

    def is_foreign(self, run: str) -> bool:
        """Return True if another user started the run."""
        try:
            return self._chat.open_run(run).foreign
        except NexusError:
            return False

    def _show_event_card(self, run: str, event: Event) -> None:
        if event.kind == "node.failed":
            # A step that failed is not done again: only who failed before the first of them can be tried once more.
            self._chat.put(card_for_failure(run, str(event.body["node"]), str(event.body["why"]), resumable=False))
        if event.kind == "tool.executed" and event.body.get("tests"):
            report = self._test_report(run, event)
            self._chat.put(card_for_tests(run, str(event.body["action"]), str(event.body["tests"]), report))

    def _test_report(self, run: str, event: Event) -> dict[str, Any]:
        found: dict[str, Any] = {"status": event.body.get("status", 0 if event.body["ok"] else 1)}
        found["output"] = event.body.get("result", "")
        for digest in event.body.get("artifacts", ())[:1]:
            try:
                found |= json.loads(self._chat.open_run(run).artifacts.read(digest))
            except (NexusError, ValueError):
                break
        runner = RUNNERS.get(str(event.body["tests"]))
        report = runner.parse(str(found["output"]).encode("utf-8", "replace"), int(found["status"])) if runner else None
        if report and report.counted:
            found |= {"passed": report.passed, "failed": report.failed, "skipped": report.skipped}
        return found

    def _show_trace(self, seen: NewRunEvents) -> None:
        chat = self._chat
        for entry in news.trace_entries(seen.run, seen.events):
            chat.show(entry)
        for event in seen.events:
            name = str(event.body.get("name", ""))
            if event.kind == "artifact.written" and (name.startswith("output-") or name in _KEPT):
                self._show_raw_output(seen.run, name, str(event.body["digest"]))
        if any(event.kind.startswith("node.") for event in seen.events):
            graph = news.format_delegation_graph(
                seen.run, seen.view, self._workflow_edges(seen.run), self._times.of(seen.run)
            )
            chat.say("trace", graph, seen.run)

    def _show_raw_output(self, run: str, name: str, digest: str) -> None:
        try:
            raw = self._chat.open_run(run).artifacts.read(digest)
        except NexusError:
            return
        more = f"\n… {len(raw) - _RAW} bytes more: git nexus artifacts {run}" if len(raw) > _RAW else ""
        self._chat.say("agent", f"raw {name}:\n{visible_bytes(raw[:_RAW])}{more}", run)

    def _show_action_card(self, run: str, action: str, one: ActionView) -> None:
        opened_run = self._chat.open_run(run)
        try:
            card, _ = action_card(opened_run, action)
        except Conflict:
            # The branch moved: the process that drives the run proposes it again, with a card of its own.
            self._chat.card_actions.resume_if_idle(run, waits=False)
            return
        editable = one.kind == "patch" and one.status == "waiting" and not opened_run.record.session
        self._chat.put(card_for_action(card, run, action, editable=editable))

    def _update_drivers(self) -> None:
        """Report processes that began or ended driving a run."""
        now = set()
        for run, until in list(self.expected.items()):
            view = self._chat.watch.views.get(run)
            if (view is not None and view.nodes) or time.monotonic() > until:
                del self.expected[run]
        for run, view in self._chat.watch.views.items():
            if not has_run_ended(view) and self._is_driven(run):
                now.add(run)
        for run in self.driven - now:
            view = self._chat.watch.views[run]
            jobs = any(job.run == run for job in self._chat.commands.jobs)
            if view.status in ("running", "blocked") and not view.questions and not jobs:
                self._chat.say("nexus", f"{run} stopped; /resume {run} continues it", run)
        self.driven = now

    def _is_driven(self, run: str) -> bool:
        try:
            return self._chat.open_run(run).is_driven()
        except NexusError:
            return False

    def _workflow_edges(self, run: str) -> tuple[tuple[str, ...], ...]:
        try:
            return self._chat.open_run(run).definition().edges
        except NexusError:
            return ()

    def _remember_result(self, run: str, view: RunView) -> None:
        """Store the result of a run of this conversation for the next request: its status and its artifacts."""
        kept = tuple(dict.fromkeys(one.name for one in view.artifacts if one.name in _KEPT))
        self._chat.asked = [
            one._replace(status=view.status, artifacts=kept) if one.run == run else one for one in self._chat.asked
        ]


def _waits_for_approval(one: ActionView) -> bool:
    return one.status == "waiting" or (one.status == "unknown" and one.kind not in ("patch", "handoff"))


def _describe_failure(one: ActionView) -> str:
    last = one_line(one.output.strip().rpartition("\n")[2], 200)
    status = "" if one.exit is None else f" with status {one.exit}"
    return f", and it failed{status}{f': {last}' if last else ''}"


def _describe_outcome(one: ActionView, *, over: bool) -> str:
    by = f" by {one.by}" if one.by else ""
    match one.status:
        case "executed":
            ended = f", commit {one.commit[:12]}" if one.commit else "" if one.ok else _describe_failure(one)
            return f"approved{by}{ended}"
        case "approved":
            return f"approved{by}"
        case "denied":
            return f"denied{by}{f': {one.why}' if one.why else ''}"
    return "left open; the run is over" if over else ""
