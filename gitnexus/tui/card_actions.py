"""What keys and commands do: say yes or no, start, go on, stop. Each is a command of git nexus in its own process."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from gitnexus.app.runapproval import allowed
from gitnexus.app.runcard import run_card
from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import one_line
from gitnexus.runs.model import ENDED
from gitnexus.tui.cards import WORD, of_action
from gitnexus.tui.hands import Done
from gitnexus.tui.model import ChatCard, Key
from gitnexus.tui.slash import Local
from gitnexus.tui.talk import Asked

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

_CONFLICT = 23
_MOST_ASKED = 50
# So long a driver may take to come up before nobody waits for it any more.
_A_START = 30.0


class Deeds:
    """Acts for the chat."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat

    def do(self, card: ChatCard, key: Key, said: str) -> None:
        """Do what a key of a card means. Raises: NexusError."""
        argv: tuple[str, ...]
        match key.means:
            case "approve":
                self._approve(card, key, said)
            case "deny":
                argv = ("deny", card.run, card.action, f"--reason={said.strip()}", "--json")
                self._answer(card, argv, "denying")
            case "answer":
                if not said.strip():
                    raise Invalid("nothing was answered", hint="press the key again and type the answer")
                argv = ("answer", f"--question={card.action}", "--json", "--", card.run, said.strip())
                self._answer(card, argv, "answering")
            case "reveal":
                self._reveal(card, said)
            case "start":
                self._start(card)
            case "discard":
                self._chat.proposals.drop(card.id)
                self._chat.put(replace(card, settled="dropped"))
            case "resume":
                self.resume(card.run)
            case "edit":
                raise Invalid("an editor needs the terminal", hint=f"git nexus review {card.run} edits it")
            case _:
                self._chat.put(self._chat.proposals.changed(card.id, key, said))

    def local(self, intent: Local) -> None:
        """Carry out a command that is about runs. Raises: NexusError."""
        words, chat = intent.words, self._chat
        word = words[0] if words else ""
        match intent.name:
            case "run":
                if not words:
                    raise Invalid("say what to run", hint="/run -- CMD, or /run --agent NAME PROMPT")
                self._begin(("run", "--detach", "--json", *self._mode(), *words), intent.rest)
            case "resume":
                self.resume(chat.named(word))
            case "stop":
                self.stop(chat.named(word))
            case "approve":
                self._by_letter(words)
            case "deny":
                card, rest = self._card_in(words, "deny")
                self.do(card, _key(card, "d"), " ".join(rest))
            case "answer":
                card, rest = self._card_in(words, "answer")
                self.do(card, _key(card, "a"), " ".join(rest))

    def resume(self, run: str) -> None:
        """Let a run go on. Raises: NexusError."""
        desk = self._chat.desk(run)
        if desk.run.status == "landed" or desk.view().status in ("completed", "cancelled", "landed"):
            raise Failed(f"{run} is {desk.view().status}", hint="start a new run for more")
        if desk.is_driven():
            raise Failed(f"{run} is at work already")
        self._chat.watch.follow(run)
        self._chat.active = run
        self._chat.hands.do(("resume", run, "--unattended", "--json"), self._driven, run)

    def go_on(self, run: str, *, waits: bool = True) -> None:
        """Let a run go on that has waited for nothing but an answer, if nobody drives it."""
        desk = self._chat.desk(run)
        view = desk.view()
        still = waits and (view.questions or any(one.status == "waiting" for one in view.actions.values()))
        at_work = desk.is_driven() or any(job.run == run for job in self._chat.hands.jobs)
        if not still and not at_work and view.status not in ENDED and not desk.run.session:
            self._chat.hands.do(("resume", run, "--unattended", "--json"), self._driven, run)

    def stop(self, run: str) -> None:
        """Stop what a run does now; if it does nothing, what else is under way here. Raises: NexusError."""
        chat = self._chat
        if run:
            desk = chat.desk(run)
            job, driven = chat.hands.stop(run), desk.is_driven()
            if driven:
                desk.stop_driver()
            if job or driven:
                chat.say("nexus", f"{run} is told to stop; /resume {run} goes on with it", run)
                return
        if not chat.hands.stop():
            words = f"{run} does nothing right now" if run else "nothing is at work"
            raise Failed(words, hint="/quit or Ctrl-Q leaves")
        chat.say("nexus", "what was begun is told to stop")

    def edited(self, card_id: str) -> None:
        """Let the person edit a patch in their editor; whoever calls has given up the screen. Raises: NexusError."""
        from gitnexus.ui.editing import edited  # opens an editor on this terminal

        card = self._chat.cards[card_id]
        desk = self._chat.desk(card.run)
        shown, _ = run_card(desk, card.action)
        new = edited(desk, card.action, shows=shown.hidden)
        if new != card.action and allowed(desk, new):
            self._chat.say("nexus", f"{new} is done: the policy allows it", card.run)

    def _approve(self, card: ChatCard, key: Key, said: str) -> None:
        if key.asks and said.strip() != WORD:
            raise Invalid(f"nothing was approved: the word is {WORD}")
        if card.unseen:
            words = f"git nexus approve {card.run} {card.action}@{card.digest}"
            raise Invalid(f"nothing was approved: {card.unseen}", hint=f"{words} approves it unseen")
        if not self._chat.has_seen(card):
            raise Invalid("nothing was approved: not all of the card was shown", hint="v or /show unfolds it")
        argv = ("approve", card.run, card.action, "--scope", key.scope, "--digest", card.digest, "--json")
        self._answer(card, argv, "approving")

    def _answer(self, card: ChatCard, argv: tuple[str, ...], word: str) -> None:
        chat = self._chat
        chat.active = card.run
        chat.put(replace(card, settled=f"{word} …"))

        def then(done: Done) -> None:
            chat.narrator.look()
            if not done.told.get("success"):
                if done.failure:
                    chat.failed(f"{card.action}: {done.failure}")
                if chat.cards[card.id].settled.endswith("…"):
                    chat.put(card)
            self.go_on(card.run, waits=done.status != _CONFLICT)

        chat.hands.do(argv, then, card.run)

    def _reveal(self, card: ChatCard, why: str) -> None:
        if not why.strip():
            raise Invalid("nothing is shown without a reason")
        desk = self._chat.desk(card.run)
        shown = run_card(desk, card.action)[1](why.strip())
        self._chat.put(of_action(shown, card.run, card.action, editable=card.key("e") is not None))

    def _start(self, card: ChatCard) -> None:
        chat = self._chat
        title = chat.proposals.title(card.id)
        file = chat.proposals.file(card.id, card.digest)
        chat.put(replace(card, settled="starting …"))
        called = one_line(title.strip().split("\n")[0], 200)
        argv = ("run", f"--workflow={file}", f"--title={called}", "--yes", "--detach", "--json", *self._mode())
        self._begin(argv, title, card)

    def _begin(self, argv: tuple[str, ...], title: str, card: ChatCard | None = None) -> None:
        chat = self._chat

        def then(done: Done) -> None:
            run = done.told.get("run", {}).get("id", "")
            if not run:
                chat.failed(done.failure or "no run was started")
                if card is not None:
                    chat.put(card)
                return
            chat.mine.add(run)
            chat.active = run
            chat.narrator.expected[run] = time.monotonic() + _A_START
            chat.asked = [*chat.asked, Asked(title, run, "running")][-_MOST_ASKED:]
            if card is not None:
                chat.proposals.drop(card.id)
                chat.put(replace(card, settled=f"started as {run}"))

        chat.hands.do(argv, then)

    def _driven(self, done: Done) -> None:
        if done.failure and not done.told.get("success"):
            self._chat.failed(done.failure)

    def _mode(self) -> tuple[str, ...]:
        return ("--mode", self._chat.mode) if self._chat.mode else ()

    def _by_letter(self, words: tuple[str, ...]) -> None:
        if not words:
            raise Invalid("say which key", hint="/approve y, or /approve y RUN a1")
        card, rest = self._card_in(words[1:], "approve")
        key = _key(card, words[0])
        if key.means not in ("approve", "start"):
            raise Invalid(f"{key.letter} is no yes", hint="/deny says no")
        self.do(card, key, " ".join(rest))

    def _card_in(self, words: tuple[str, ...], means: str) -> tuple[ChatCard, tuple[str, ...]]:
        """Return the card that the first words name, the last one that waits for none, and the other words."""
        fits = [card for card in self._chat.waiting() if any(_fits(key, means) for key in card.keys)]
        rest = list(words)
        while rest and (some := [card for card in fits if rest[0] in (card.run, card.action, card.id)]):
            fits = some
            rest.pop(0)
        if not fits:
            raise Invalid("nothing waits for that", hint="/review shows what waits")
        return fits[-1], tuple(rest)


def _fits(key: Key, means: str) -> bool:
    return key.means == means or (means == "approve" and key.means == "start")


def _key(card: ChatCard, letter: str) -> Key:
    key = card.key(letter)
    if key is None:
        raise Invalid(f"{one_line(letter, 20)} is no key of this card", hint="? explains the keys of a card")
    return key
