"""The conversation: takes typed lines and keys, watches the runs, and adds entries. Independent of any screen."""

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.base.text import one_line
from gitnexus.events.inforce import Claimed
from gitnexus.events.view import RunView
from gitnexus.policy.shown_cards import remember_shown
from gitnexus.projects.open_project import Nexus, open_nexus
from gitnexus.runs.list import runs_over
from gitnexus.runs.open_run import OpenRun, open_run
from gitnexus.tui import slash
from gitnexus.tui.card_actions import CardActions
from gitnexus.tui.chat_store import ChatStore
from gitnexus.tui.completing import CompletionSources
from gitnexus.tui.input_commands import InputCommands
from gitnexus.tui.model import ChatCard, ChatEntry, ChatStatus, ShowCardAgain, SidePanel, Speaker, Update
from gitnexus.tui.project_data import ProjectData
from gitnexus.tui.prompt_context import EarlierRequest
from gitnexus.tui.proposing import ChatProposals
from gitnexus.tui.run_feed import RunFeed
from gitnexus.tui.subprocesses import CommandRunner, FinishedCommand
from gitnexus.tui.watch import RunWatch

_MOST_SAID = 5000


class Chat:
    """The user's conversation about one project. Every call returns the new entries to show."""

    def __init__(self, nexus: Nexus, place: Path) -> None:
        self.nexus = nexus
        self.folder = place
        state = nexus.state
        self.store = ChatStore(nexus.repo.common_dir)
        self.history = self.store.history()
        self.commands = CommandRunner(place)
        self.proposals = ChatProposals(state, self.store)
        self.watch = RunWatch(nexus.repo.common_dir, runs_over(state), self._claimed)
        self.project = ProjectData(nexus)
        self.narrator = RunFeed(self)
        self.card_actions = CardActions(self)
        self.orders = InputCommands(self)
        self.cards: dict[str, ChatCard] = {}
        self.mine: set[str] = set()
        self.active = ""
        self.mode = ""
        self.trace = False
        self.asked: list[EarlierRequest] = []
        self.failures = 0
        self.said: deque[ChatEntry] = deque(maxlen=_MOST_SAID)
        self._new: list[Update] = []
        self._seen: set[tuple[str, str]] = set()
        # Cards whose whole text the face is still to draw, and those that it was given: once it is back, it drew them.
        self._to_draw: list[ChatCard] = []
        self._given: list[ChatCard] = []

    def opened(self, *, past: bool = True) -> list[Update]:
        """Return the stored end of the conversation, the unfinished runs, and the waiting cards."""
        before = self.store.entries()
        self.said += before
        self._new += before if past else []
        self.project.look()
        for notice in self.nexus.notices:
            self.say("nexus", notice)
        self._new.append(ChatEntry("nexus", f"{self.project.name}: ask for something, or /help"))
        for card in self.proposals.cards():
            self.put(card)
        return self.look()

    def typed(self, text: str, *, pasted: bool = False) -> list[Update]:
        """Process typed text. Text that was `pasted` approves nothing."""
        self._mark_drawn_cards()
        if text.strip():
            self.say("you", text.strip("\n"))
            self.history = self.history.added(text.strip("\n"))
            self.store.keep_history(self.history)
        with self._errors_shown():
            intent = slash.parse_chat_input(text, self._macros())
            if pasted and isinstance(intent, slash.LocalCommand) and intent.name == "approve":
                raise Invalid("a paste cannot approve", hint="type it, or go to the card with Tab and press its key")
            self.orders.follow(intent)
        return self._take_updates()

    def answered(self, card_id: str, letter: str, said: str = "", *, digest: str = "") -> list[Update]:
        """Answer a card by a key; `said` is the text that the key asked for, `digest` identifies what the user saw."""
        self._mark_drawn_cards()
        with self._errors_shown():
            card = self.cards.get(card_id)
            key = card.key(letter) if card else None
            if card is None or key is None:
                raise Invalid(f"{letter} is not a key here", hint="? explains the keys of a card")
            if digest and digest != card.digest:
                raise Invalid("the card has changed since you looked at it", hint="look at it again")
            self.card_actions.do(card, key, said)
        return self._take_updates()

    def look(self) -> list[Update]:
        """Return what happened since the last call."""
        with self._errors_shown():
            self.commands.collect()
            self.narrator.look()
            self.project.look()
        return self._take_updates()

    def stop(self, run: str = "") -> list[Update]:
        """Stop the work of a run, by default the active one; it can be resumed."""
        with self._errors_shown():
            self.card_actions.stop(run or self.active)
        return self._take_updates()

    def interrupted(self) -> list[Update]:
        """Stop after a Ctrl-C of the terminal. That also ended our git child, so git is opened again."""
        self.nexus.close()
        self.nexus = self.project.nexus = open_nexus(self.folder)
        self.proposals.state = self.nexus.state
        return self.stop()

    @property
    def working(self) -> bool:
        """True if a command is running, or a run has a driver and waits for nobody."""
        if self.commands.jobs or self.narrator.expected:
            return True
        views = self.watch.views
        return any(run in views and not _waits_for_person(views[run]) for run in self.narrator.driven)

    def waiting(self) -> list[ChatCard]:
        """Return the waiting cards, the oldest first."""
        return [card for card in self.cards.values() if card.waits and card.kind != "error"]

    def status(self) -> ChatStatus:
        """Return the content of the status line."""
        view = self.watch.views.get(self.active)
        node = next((name for name, one in reversed(view.nodes.items()) if one.status == "started"), "") if view else ""
        cost = f"${view.cost / 1e6:.2f}" if view and view.cost else ""
        status = self.narrator.status(self.active) if view else ""
        return ChatStatus(
            self.project.name,
            self.project.branch,
            self.mode or self.project.mode or "default",
            self.active,
            node,
            status,
            self.project.plan,
            self.project.tasks,
            len(self.waiting()),
            cost,
            self.trace,
        )

    def panel(self) -> SidePanel:
        """Return the content of the side panel."""
        return self.project.panel(self.watch.views, self.narrator.is_foreign)

    def sources(self) -> CompletionSources:
        """Return the sources of completion."""
        runs = [(run, one_line(view.task, 60)) for run, view in reversed(self.watch.views.items())]
        about = [*self._macros().items()]
        return CompletionSources(self.project.files, self.project.open_task_refs, lambda: runs, lambda: about)

    def close(self) -> None:
        """Close the project; runs continue."""
        self.commands.close()
        self.nexus.close()

    def say(self, speaker: Speaker, text: str, run: str = "") -> None:
        """Add a text to the conversation."""
        self.show(ChatEntry(speaker, text, run))

    def show(self, entry: ChatEntry) -> None:
        """Add an entry to the conversation."""
        self.said.append(entry)
        self.store.add(entry)
        self._new.append(entry)

    def put(self, card: ChatCard) -> None:
        """Show a card, or how it was decided."""
        self.cards[card.id] = card
        self._new.append(card)
        if not card.folds:
            self._to_draw.append(card)

    def show_card_unfolded(self, card: ChatCard) -> None:
        """Show a card with all its sections unfolded."""
        self._new.append(ShowCardAgain(card, whole=True))
        self._to_draw.append(card)

    def mark_card_seen(self, card: ChatCard) -> None:
        """Record that the whole card was on the screen, with nothing folded."""
        self._seen.add((card.id, card.digest))
        if card.action and card.digest and not card.unseen:
            remember_shown(card.digest)

    def has_seen_card(self, card: ChatCard) -> bool:
        """Return True if nothing of a card was folded when it was shown."""
        return (card.id, card.digest) in self._seen

    def tell(self, *updates: Update) -> None:
        """Send a request to the front end."""
        self._new += updates

    def _claimed(self, run: str) -> Sequence[Claimed]:
        """Return the events of another clone's log that no known machine signed."""
        try:
            return self.open_run(run).claimed_here()
        except NexusError:
            return ()  # no record of it: a run that begins just now

    def open_run(self, run: str) -> OpenRun:
        """Open a run. Raises: NexusError."""
        return open_run(self.nexus.state, run)

    def report_failure(self, words: str, hint: str = "") -> None:
        """Add an error to the conversation."""
        self.failures += 1
        self.say("error", f"{words} ({hint})" if hint else words)

    def show_output(self, done: FinishedCommand) -> None:
        """Add a command's output to the conversation."""
        if done.failure:
            self.report_failure(done.failure)
        elif done.out or done.err:
            self.say("output", "\n".join(filter(None, (done.err, done.out))))

    def named(self, word: str = "") -> str:
        """Return the run that a word names, by default the active one. Raises: NexusError."""
        if word:
            return self.open_run(word).record.id
        if not self.active:
            raise Failed("which run?", hint="/runs lists them; /use RUN makes one the active one")
        return self.active

    def _macros(self) -> dict[str, str]:
        """Return the workflows that a text can begin with, ours and the project's as it is now, with their words."""
        from gitnexus.workflow.commands import read_custom_macros
        from gitnexus.workflow.macros import MACROS

        own, _ = read_custom_macros(self.nexus.state.latest())
        about = {name: macro.about for name, macro in MACROS.items()}
        about |= {name: command.about for name, command in own.items()}
        return {name: words for name, words in about.items() if name not in slash.NAMES}

    def _take_updates(self) -> list[Update]:
        self._mark_drawn_cards()
        found, self._new = self._new, []
        self._given, self._to_draw = self._to_draw, []
        return found

    def _mark_drawn_cards(self) -> None:
        """Record as seen what was given to the front end: this runs only after it drew that."""
        given, self._given = self._given, []
        for card in given:
            self.mark_card_seen(card)

    @contextlib.contextmanager
    def _errors_shown(self) -> Iterator[None]:
        try:
            yield
        except NexusError as exc:
            self.report_failure(exc.message, exc.hint or (f"try: {exc.fix}" if exc.fix else ""))
        except OSError as exc:
            self.report_failure(f"the system reported: {exc.strerror or exc}")


def _waits_for_person(view: RunView) -> bool:
    return bool(view.questions) or any(one.status == "waiting" for one in view.actions.values())
