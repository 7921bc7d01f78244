"""The conversation: takes what a person types and presses, watches the runs, and says what happens. Knows no screen."""

import contextlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from gitnexus.app.open import Nexus, open_nexus
from gitnexus.app.rundesk import RunDesk, open_run
from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.base.text import one_line
from gitnexus.events.view import RunView
from gitnexus.runs.model import ENDED
from gitnexus.runs.shown import remember_shown
from gitnexus.runs.store import runs_in
from gitnexus.tui import slash
from gitnexus.tui.completing import Sources
from gitnexus.tui.deeds import Deeds
from gitnexus.tui.hands import Done, Hands
from gitnexus.tui.keeping import Keeper
from gitnexus.tui.model import Again, ChatCard, Entry, Panel, Speaker, Standing, Update
from gitnexus.tui.narrator import Narrator
from gitnexus.tui.orders import Orders
from gitnexus.tui.proposing import Proposals
from gitnexus.tui.sights import Sights
from gitnexus.tui.talk import Asked
from gitnexus.tui.watch import Watch

_MOST_SAID = 5000


class Chat:
    """One person's conversation about one project. Every call returns what is new to show."""

    def __init__(self, nexus: Nexus, place: Path) -> None:
        self.nexus = nexus
        self.place = place
        state = nexus.state
        self.keeper = Keeper(nexus.repo.common_dir)
        self.history = self.keeper.history()
        self.hands = Hands(place)
        self.proposals = Proposals(state, self.keeper)
        over = frozenset(run.id for run in runs_in(state.required()) if run.status in ENDED)
        self.watch = Watch(nexus.repo.common_dir, over)
        self.sights = Sights(nexus)
        self.narrator = Narrator(self)
        self.deeds = Deeds(self)
        self.orders = Orders(self)
        self.cards: dict[str, ChatCard] = {}
        self.mine: set[str] = set()
        self.active = ""
        self.mode = ""
        self.trace = False
        self.asked: list[Asked] = []
        self.failures = 0
        self.said: deque[Entry] = deque(maxlen=_MOST_SAID)
        self._new: list[Update] = []
        self._seen: set[tuple[str, str]] = set()
        # Cards whose whole text the face is still to draw, and those that it was given: once it is back, it drew them.
        self._to_draw: list[ChatCard] = []
        self._given: list[ChatCard] = []

    def opened(self, *, past: bool = True) -> list[Update]:
        """Return the conversation as it stands: its end, the runs that are not over, and the cards that wait."""
        before = self.keeper.entries()
        self.said += before
        self._new += before if past else []
        self.sights.look()
        for notice in self.nexus.notices:
            self.say("nexus", notice)
        self._new.append(Entry("nexus", f"{self.sights.name}: ask for something, or /help"))
        for card in self.proposals.cards():
            self.put(card)
        return self.look()

    def typed(self, text: str, *, pasted: bool = False) -> list[Update]:
        """Take in what was typed. What was `pasted` approves nothing."""
        self._note_drawn()
        if text.strip():
            self.say("you", text.strip("\n"))
            self.history = self.history.added(text.strip("\n"))
            self.keeper.keep_history(self.history)
        with self._told():
            intent = slash.meant(text, self._macros())
            if pasted and isinstance(intent, slash.Local) and intent.name == "approve":
                raise Invalid("a paste approves nothing", hint="type it, or go to the card with Tab and press its key")
            self.orders.follow(intent)
        return self._taken()

    def answered(self, card_id: str, letter: str, said: str = "", *, digest: str = "") -> list[Update]:
        """Answer a card by a key; `said` is what the key asked for, `digest` what the person saw."""
        self._note_drawn()
        with self._told():
            card = self.cards.get(card_id)
            key = card.key(letter) if card else None
            if card is None or key is None:
                raise Invalid(f"{letter} answers nothing here", hint="? explains the keys of a card")
            if digest and digest != card.digest:
                raise Invalid("the card has changed since you looked at it", hint="look at it again")
            self.deeds.do(card, key, said)
        return self._taken()

    def look(self) -> list[Update]:
        """Return what happened since the last look."""
        with self._told():
            self.hands.collect()
            self.narrator.look()
            self.sights.look()
        return self._taken()

    def stop(self, run: str = "") -> list[Update]:
        """Stop what a run does now, the active one if none is named; it can be resumed."""
        with self._told():
            self.deeds.stop(run or self.active)
        return self._taken()

    def interrupted(self) -> list[Update]:
        """Stop after a Ctrl-C of the terminal, which ended the git that reads for us as well: that is opened anew."""
        self.nexus.close()
        self.nexus = self.sights.nexus = open_nexus(self.place)
        self.proposals.state = self.nexus.state
        return self.stop()

    @property
    def working(self) -> bool:
        """True if something is under way: a command, or a run that somebody drives and that waits for nobody."""
        if self.hands.jobs or self.narrator.expected:
            return True
        views = self.watch.views
        return any(run in views and not _waits(views[run]) for run in self.narrator.driven)

    def waiting(self) -> list[ChatCard]:
        """Return the cards that wait for an answer, the oldest first."""
        return [card for card in self.cards.values() if card.waits and card.kind != "error"]

    def standing(self) -> Standing:
        """Return what the status line tells."""
        view = self.watch.views.get(self.active)
        node = next((name for name, one in reversed(view.nodes.items()) if one.status == "started"), "") if view else ""
        cost = f"${view.cost / 1e6:.2f}" if view and view.cost else ""
        status = self.narrator.status(self.active) if view else ""
        return Standing(
            self.sights.name, self.sights.branch, self.mode or self.sights.mode or "default", self.active, node, status,
            self.sights.plan, self.sights.tasks, len(self.waiting()), cost, self.trace,
        )  # fmt: skip

    def panel(self) -> Panel:
        """Return what the side panel lists."""
        return self.sights.panel(self.watch.views, self.narrator.is_foreign)

    def sources(self) -> Sources:
        """Return where completion finds its words."""
        from gitnexus.workflow.macros import MACROS

        runs = [(run, one_line(view.task, 60)) for run, view in reversed(self.watch.views.items())]
        about = [(name, MACROS[name].about if name in MACROS else "workflow") for name in self._macros()]
        return Sources(self.sights.files, self.sights.task_refs, lambda: runs, lambda: about)

    def close(self) -> None:
        """Let go of the project; whatever runs goes on."""
        self.hands.close()
        self.nexus.close()

    def say(self, speaker: Speaker, text: str, run: str = "") -> None:
        """Say something in the conversation."""
        self.show(Entry(speaker, text, run))

    def show(self, entry: Entry) -> None:
        """Put an entry into the conversation."""
        self.said.append(entry)
        self.keeper.add(entry)
        self._new.append(entry)

    def put(self, card: ChatCard) -> None:
        """Show a card, or what became of one."""
        self.cards[card.id] = card
        self._new.append(card)
        if not card.folds:
            self._to_draw.append(card)

    def show_whole(self, card: ChatCard) -> None:
        """Show a card with all that is folded."""
        self._new.append(Again(card, whole=True))
        self._to_draw.append(card)

    def note_seen(self, card: ChatCard) -> None:
        """Note that all of a card is on the screen, nothing folded."""
        self._seen.add((card.id, card.digest))
        if card.action and card.digest and not card.unseen:
            remember_shown(card.digest)

    def has_seen(self, card: ChatCard) -> bool:
        """True if nothing of a card was folded when it was shown."""
        return (card.id, card.digest) in self._seen

    def tell(self, *updates: Update) -> None:
        """Have the face do something."""
        self._new += updates

    def desk(self, run: str) -> RunDesk:
        """Return a run, opened. Raises: NexusError."""
        return open_run(self.nexus.state, run)

    def failed(self, words: str, hint: str = "") -> None:
        """Say what went wrong."""
        self.failures += 1
        self.say("error", f"{words} ({hint})" if hint else words)

    def shown(self, done: Done) -> None:
        """Show what a command printed."""
        if done.failure:
            self.failed(done.failure)
        elif done.out or done.err:
            self.say("output", "\n".join(filter(None, (done.err, done.out))))

    def named(self, word: str = "") -> str:
        """Return the run that a word means, the active one for none. Raises: NexusError."""
        if word:
            return self.desk(word).run.id
        if not self.active:
            raise Failed("which run?", hint="/runs lists them; /use RUN makes one the active one")
        return self.active

    def _macros(self) -> list[str]:
        from gitnexus.workflow.commands import commands_in
        from gitnexus.workflow.macros import MACROS

        return [name for name in (*MACROS, *commands_in(self.nexus.state.snapshot)[0]) if name not in slash.NAMES]

    def _taken(self) -> list[Update]:
        self._note_drawn()
        found, self._new = self._new, []
        self._given, self._to_draw = self._to_draw, []
        return found

    def _note_drawn(self) -> None:
        """Note as seen what the face was given: it comes back only if it could draw that."""
        given, self._given = self._given, []
        for card in given:
            self.note_seen(card)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except NexusError as exc:
            self.failed(exc.message, exc.hint or (f"try: {exc.fix}" if exc.fix else ""))
        except OSError as exc:
            self.failed(f"the system said: {exc.strerror or exc}")


def _waits(view: RunView) -> bool:
    return bool(view.questions) or any(one.status == "waiting" for one in view.actions.values())
