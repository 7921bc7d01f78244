"""Tells what the runs do: their events as lines, what waits in them as cards, and who still works."""

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitnexus.app.claims import claims_of
from gitnexus.app.runcard import run_card
from gitnexus.app.running import status_of
from gitnexus.app.runsetup import failed_in_it
from gitnexus.base.errors import Conflict, NexusError
from gitnexus.base.text import one_line, visible_bytes
from gitnexus.events.model import Event
from gitnexus.events.view import ActionView, RunView
from gitnexus.gateway.testrun.table import RUNNERS
from gitnexus.tui import news
from gitnexus.tui.cards import of_action, of_failure, of_question, of_tests
from gitnexus.tui.watch import Seen, is_over
from gitnexus.ui.runs import FOREIGN
from gitnexus.workflow.definition import OUTPUTS

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

_RAW = 20_000
SET_UP = "the set-up"
_KEPT = frozenset(name for names in OUTPUTS.values() for name in names)


class Narrator:
    """Looks at what the watch finds, and says it in the chat."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self._times = news.Times()
        self.driven: set[str] = set()
        # Runs whose driver was started and has not come up yet, and until when that is waited for.
        self.expected: dict[str, float] = {}

    def look(self) -> None:
        """Say what is new."""
        for seen in self._chat.watch.look():
            for event in seen.events:
                self._times.note(seen.run, event)
            self._begun(seen) if seen.first else self._went_on(seen)
            self.cards(seen.run, seen.view)
        self._drivers()

    def status(self, run: str) -> str:
        """Return how a run stands: one that nobody drives has stopped."""
        view = self._chat.watch.views.get(run)
        if view is None:
            return ""
        return str(status_of(view, driven=run in self.driven)) if not is_over(view) else view.status

    def traced(self) -> None:
        """Show the delegation graph of the runs that are watched."""
        chat = self._chat
        chat.say("nexus", "the trace is on: every event, raw messages and times are shown")
        for run, view in chat.watch.views.items():
            chat.say("trace", news.graph(run, view, self._edges(run), self._times.of(run)), run)

    def cards(self, run: str, view: RunView) -> None:
        """Bring the cards of a run to what its log says."""
        over = is_over(view)
        for action, one in view.actions.items():
            self._action(run, action, one, over=over)
        for question, text in view.questions.items():
            known = self._chat.cards.get(f"{run} {question}")
            if known is None or known.settled:
                self._chat.put(of_question(run, question, text))
        for card in list(self._chat.cards.values()):
            asked = card.run == run and card.kind == "question"
            if asked and card.action not in view.questions and card.settled != "answered":
                self._chat.put(replace(card, settled="answered"))
            if card.run == run and card.kind == "error" and card.waits and view.status == "running" and not over:
                self._chat.put(replace(card, settled="tried again"))

    def _action(self, run: str, action: str, one: ActionView, *, over: bool) -> None:
        known = self._chat.cards.get(f"{run} {action}")
        if not over and _waits(one):
            if known is None or known.settled or known.digest != one.digest:
                self._put(run, action, one)
        elif known is not None:
            words = _became(one, over=over)
            if words and self._is_claimed(run, action):
                words = f"said to be {words}, not signed"
            if words and words != known.settled:
                self._chat.put(replace(known, settled=words))

    def _is_claimed(self, run: str, action: str) -> bool:
        """True if nobody who is known here signed what became of an action."""
        try:
            return action in claims_of(self._chat.desk(run)).actions
        except NexusError:
            return False

    def _begun(self, seen: Seen) -> None:
        waits = seen.view.questions or any(_waits(one) for one in seen.view.actions.values())
        if seen.view.session and not waits:
            return  # somebody's program, at work or long gone: it has nothing to say here
        if not is_over(seen.view):
            self._chat.active = seen.run
        elif failed_in_it(seen.view):
            self._chat.put(of_failure(seen.run, SET_UP, seen.view.why, resumable=True))
        status = self.status(seen.run)
        self._chat.say("nexus", f"{seen.run} is {status}: {one_line(seen.view.task, 200)}", seen.run)
        self._tell_origin(seen.run)

    def _went_on(self, seen: Seen) -> None:
        chat, run = self._chat, seen.run
        if seen.events[0].kind == "workflow.started" and run not in chat.mine and not chat.active:
            chat.active = run
        if seen.events[0].kind == "workflow.started":
            self._tell_origin(run)
        for event in seen.events:
            for entry in news.said(run, event):
                chat.show(entry)
            self._card_of(run, event)
        if chat.trace:
            self._trace(seen)
        if is_over(seen.view) and any(event.kind == "run.finished" for event in seen.events):
            for entry in news.ended(run, seen.view):
                chat.show(entry)
            if failed_in_it(seen.view):
                chat.put(of_failure(run, SET_UP, seen.view.why, resumable=True))
            self._remember(run, seen.view)

    def _tell_origin(self, run: str) -> None:
        if self.is_foreign(run):
            self._chat.say("nexus", f"{run} is {FOREIGN}", run)

    def is_foreign(self, run: str) -> bool:
        """True if somebody else began a run."""
        try:
            return self._chat.desk(run).foreign
        except NexusError:
            return False

    def _card_of(self, run: str, event: Event) -> None:
        if event.kind == "node.failed":
            # A step that failed is not done again: only who failed before the first of them can be tried once more.
            self._chat.put(of_failure(run, str(event.body["node"]), str(event.body["why"]), resumable=False))
        if event.kind == "tool.executed" and event.body.get("tests"):
            report = self._report(run, event)
            self._chat.put(of_tests(run, str(event.body["action"]), str(event.body["tests"]), report))

    def _report(self, run: str, event: Event) -> dict[str, Any]:
        found: dict[str, Any] = {"status": event.body.get("status", 0 if event.body["ok"] else 1)}
        found["output"] = event.body.get("result", "")
        for digest in event.body.get("artifacts", ())[:1]:
            try:
                found |= json.loads(self._chat.desk(run).artifacts.read(digest))
            except (NexusError, ValueError):
                break
        runner = RUNNERS.get(str(event.body["tests"]))
        report = runner.parse(str(found["output"]).encode("utf-8", "replace"), int(found["status"])) if runner else None
        if report and report.counted:
            found |= {"passed": report.passed, "failed": report.failed, "skipped": report.skipped}
        return found

    def _trace(self, seen: Seen) -> None:
        chat = self._chat
        for entry in news.traced(seen.run, seen.events):
            chat.show(entry)
        for event in seen.events:
            name = str(event.body.get("name", ""))
            if event.kind == "artifact.written" and (name.startswith("output-") or name in _KEPT):
                self._raw(seen.run, name, str(event.body["digest"]))
        if any(event.kind.startswith("node.") for event in seen.events):
            graph = news.graph(seen.run, seen.view, self._edges(seen.run), self._times.of(seen.run))
            chat.say("trace", graph, seen.run)

    def _raw(self, run: str, name: str, digest: str) -> None:
        try:
            raw = self._chat.desk(run).artifacts.read(digest)
        except NexusError:
            return
        more = f"\n… {len(raw) - _RAW} bytes more: git nexus artifacts {run}" if len(raw) > _RAW else ""
        self._chat.say("agent", f"raw {name}:\n{visible_bytes(raw[:_RAW])}{more}", run)

    def _put(self, run: str, action: str, one: ActionView) -> None:
        desk = self._chat.desk(run)
        try:
            card, _ = run_card(desk, action)
        except Conflict:
            # The branch moved on: whoever drives the run proposes it anew, and that gets a card of its own.
            self._chat.deeds.go_on(run, waits=False)
            return
        editable = one.kind == "patch" and one.status == "waiting" and not desk.run.session
        self._chat.put(of_action(card, run, action, editable=editable))

    def _drivers(self) -> None:
        """Notice who began to drive a run, and who no longer does."""
        now = set()
        for run, until in list(self.expected.items()):
            view = self._chat.watch.views.get(run)
            if (view is not None and view.nodes) or time.monotonic() > until:
                del self.expected[run]
        for run, view in self._chat.watch.views.items():
            if not is_over(view) and self._is_driven(run):
                now.add(run)
        for run in self.driven - now:
            view = self._chat.watch.views[run]
            jobs = any(job.run == run for job in self._chat.hands.jobs)
            if view.status in ("running", "blocked") and not view.questions and not jobs:
                self._chat.say("nexus", f"{run} stopped; /resume {run} goes on with it", run)
        self.driven = now

    def _is_driven(self, run: str) -> bool:
        try:
            return self._chat.desk(run).is_driven()
        except NexusError:
            return False

    def _edges(self, run: str) -> tuple[tuple[str, ...], ...]:
        try:
            return self._chat.desk(run).definition().edges
        except NexusError:
            return ()

    def _remember(self, run: str, view: RunView) -> None:
        """Keep for the next request what a run of this conversation came to: its status, and what it kept."""
        kept = tuple(dict.fromkeys(one.name for one in view.artifacts if one.name in _KEPT))
        self._chat.asked = [
            one._replace(status=view.status, artifacts=kept) if one.run == run else one for one in self._chat.asked
        ]


def _waits(one: ActionView) -> bool:
    return one.status == "waiting" or (one.status == "unknown" and one.kind not in ("patch", "handoff"))


def _became(one: ActionView, *, over: bool) -> str:
    by = f" by {one.by}" if one.by else ""
    match one.status:
        case "executed":
            ended = f", commit {one.commit[:12]}" if one.commit else "" if one.ok else ", and it failed"
            return f"approved{by}{ended}"
        case "approved":
            return f"approved{by}"
        case "denied":
            return f"denied{by}{f': {one.why}' if one.why else ''}"
    return "left open; the run is over" if over else ""
