"""Carries out keys and commands on cards: approve, deny, start, resume, stop; each runs git nexus in a new process."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from gitnexus.base.errors import Failed, Invalid
from gitnexus.base.text import one_line
from gitnexus.runs.actions.approve import execute_if_allowed
from gitnexus.runs.actions.card import action_card
from gitnexus.runs.model import ENDED
from gitnexus.tui.cards import WORD, card_for_action
from gitnexus.tui.model import CardKey, ChatCard
from gitnexus.tui.prompt_context import EarlierRequest
from gitnexus.tui.slash import LocalCommand
from gitnexus.tui.subprocesses import FinishedCommand

if TYPE_CHECKING:
    from gitnexus.tui.chat import Chat

_CONFLICT = 23
_MOST_ASKED = 50
# So long a driver may take to come up before nobody waits for it any more.
_A_START = 30.0


class CardActions:
    """Carries out the actions of one chat."""

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat

    def do(self, card: ChatCard, key: CardKey, said: str) -> None:
        """Carry out the key of a card. Raises: NexusError."""
        argv: tuple[str, ...]
        match key.means:
            case "approve":
                self._approve_action(card, key, said)
            case "deny":
                argv = ("deny", card.run, card.action, f"--reason={said.strip()}", "--hold", "--json")
                self._send_answer(card, argv, "denying")
            case "answer":
                if not said.strip():
                    raise Invalid("nothing was answered", hint="press the key again and type the answer")
                argv = ("answer", f"--question={card.action}", "--hold", "--json", "--", card.run, said.strip())
                self._send_answer(card, argv, "answering")
            case "reveal":
                self._reveal_secrets(card, said)
            case "start":
                self._start_proposal(card)
            case "discard":
                self._chat.proposals.drop(card.id)
                self._chat.put(replace(card, settled="dropped"))
            case "resume":
                self.resume(card.run)
            case "edit":
                raise Invalid("an editor needs the terminal", hint=f"git nexus review {card.run} edits it")
            case _:
                self._chat.put(self._chat.proposals.changed(card.id, key, said))

    def run_local_command(self, intent: LocalCommand) -> None:
        """Carry out a chat command about runs. Raises: NexusError."""
        words, chat = intent.words, self._chat
        word = words[0] if words else ""
        match intent.name:
            case "run":
                if not words:
                    raise Invalid("say what to run", hint="/run -- CMD, or /run --agent NAME PROMPT")
                self._begin_run(("run", "--detach", "--json", *self._mode_options(), *words), intent.rest)
            case "resume":
                self.resume(chat.named(word))
            case "stop":
                self.stop(chat.named(word))
            case "approve":
                self._approve_by_letter(words)
            case "deny":
                card, rest = self._find_waiting_card(words, "deny")
                self.do(card, _require_key(card, "d"), _text_after(intent.rest, len(words) - len(rest)))
            case "answer":
                card, rest = self._find_waiting_card(words, "answer")
                self.do(card, _require_key(card, "a"), _text_after(intent.rest, len(words) - len(rest)))

    def resume(self, run: str) -> None:
        """Resume a run. Raises: NexusError."""
        opened_run = self._chat.open_run(run)
        if (opened_run.record.status == "landed" and not opened_run.foreign) or opened_run.view().status in (
            "completed",
            "cancelled",
            "landed",
        ):
            raise Failed(f"{run} is {opened_run.view().status}", hint="start a new run for more")
        if opened_run.is_driven():
            raise Failed(f"{run} is already running")
        self._chat.watch.follow(run)
        self._chat.active = run
        self._chat.commands.do(("resume", run, "--unattended", "--json"), self._report_driver_failure, run)

    def resume_if_idle(self, run: str, *, waits: bool = True) -> None:
        """Resume a run that waited only for an answer, unless a process drives it."""
        opened_run = self._chat.open_run(run)
        view = opened_run.view()
        still = waits and (view.questions or any(one.status == "waiting" for one in view.actions.values()))
        at_work = opened_run.is_driven() or any(job.run == run for job in self._chat.commands.jobs)
        if not still and not at_work and view.status not in ENDED and not opened_run.record.session:
            self._chat.commands.do(("resume", run, "--unattended", "--json"), self._report_driver_failure, run)

    def stop(self, run: str) -> None:
        """Stop the work of a run; if it does nothing, stop the other commands of this chat. Raises: NexusError."""
        chat = self._chat
        if run:
            opened_run = chat.open_run(run)
            job, driven = chat.commands.stop(run), opened_run.is_driven()
            if driven:
                opened_run.stop_driver()
            if job or driven:
                chat.say("nexus", f"{run} is stopping; /resume {run} continues it", run)
                return
        if not chat.commands.stop():
            words = f"{run} is not doing anything right now" if run else "nothing is running"
            raise Failed(words, hint="/quit or Ctrl-Q leaves")
        chat.say("nexus", "stopping the started commands")

    def edit_patch(self, card_id: str) -> None:
        """Open a patch in the user's editor; the caller has released the screen. Raises: NexusError."""
        from gitnexus.ui.edit_patch import edit_waiting_patch  # opens an editor on this terminal

        card = self._chat.cards[card_id]
        run = self._chat.open_run(card.run)
        shown, _ = action_card(run, card.action)
        new = edit_waiting_patch(run, card.action, shows=shown.hidden)
        if new != card.action and execute_if_allowed(run, new):
            self._chat.say("nexus", f"{new} is done: the policy allows it", card.run)

    def _approve_action(self, card: ChatCard, key: CardKey, said: str) -> None:
        if key.asks and said.strip() != WORD:
            raise Invalid(f"nothing was approved: the word is {WORD}")
        if card.unseen:
            words = f"git nexus approve {card.run} {card.action}@{card.digest}"
            raise Invalid(f"nothing was approved: {card.unseen}", hint=f"{words} approves it unseen")
        if not self._chat.has_seen_card(card):
            raise Invalid("nothing was approved: not all of the card was shown", hint="v or /show unfolds it")
        argv = ("approve", card.run, card.action, "--scope", key.scope, "--digest", card.digest, "--hold", "--json")
        self._send_answer(card, argv, "approving")

    def _send_answer(self, card: ChatCard, argv: tuple[str, ...], word: str) -> None:
        chat = self._chat
        chat.active = card.run
        chat.put(replace(card, settled=f"{word} …"))

        def on_done(done: FinishedCommand) -> None:
            chat.narrator.look()
            if not done.answer.get("success"):
                if done.failure:
                    chat.report_failure(f"{card.action}: {done.failure}")
                if chat.cards[card.id].settled.endswith("…"):
                    chat.put(card)
            self.resume_if_idle(card.run, waits=done.status != _CONFLICT)

        chat.commands.do(argv, on_done, card.run)

    def _reveal_secrets(self, card: ChatCard, why: str) -> None:
        if not why.strip():
            raise Invalid("nothing is shown without a reason")
        run = self._chat.open_run(card.run)
        shown = action_card(run, card.action)[1](why.strip())
        self._chat.put(card_for_action(shown, card.run, card.action, editable=card.key("e") is not None))

    def _start_proposal(self, card: ChatCard) -> None:
        chat = self._chat
        title = chat.proposals.title(card.id)
        file = chat.proposals.file(card.id, card.digest)
        chat.put(replace(card, settled="starting …"))
        called = one_line(title.strip().split("\n")[0], 200)
        argv = ("run", f"--workflow={file}", f"--title={called}", "--yes", "--detach", "--json", *self._mode_options())
        self._begin_run(argv, title, card)

    def _begin_run(self, argv: tuple[str, ...], title: str, card: ChatCard | None = None) -> None:
        chat = self._chat

        def on_done(done: FinishedCommand) -> None:
            run = done.answer.get("run", {}).get("id", "")
            if not run:
                chat.report_failure(done.failure or "no run was started")
                if card is not None:
                    chat.put(card)
                return
            chat.mine.add(run)
            chat.active = run
            chat.narrator.expected[run] = time.monotonic() + _A_START
            chat.asked = [*chat.asked, EarlierRequest(title, run, "running")][-_MOST_ASKED:]
            if card is not None:
                chat.proposals.drop(card.id)
                chat.put(replace(card, settled=f"started as {run}"))

        chat.commands.do(argv, on_done)

    def _report_driver_failure(self, done: FinishedCommand) -> None:
        if done.failure and not done.answer.get("success"):
            self._chat.report_failure(done.failure)

    def _mode_options(self) -> tuple[str, ...]:
        return ("--mode", self._chat.mode) if self._chat.mode else ()

    def _approve_by_letter(self, words: tuple[str, ...]) -> None:
        if not words:
            raise Invalid("say which key", hint="/approve y, or /approve y RUN a1")
        card, rest = self._find_waiting_card(words[1:], "approve")
        key = _require_key(card, words[0])
        if key.means not in ("approve", "start"):
            raise Invalid(f"{key.letter} does not approve", hint="/deny says no")
        self.do(card, key, " ".join(rest))

    def _find_waiting_card(self, words: tuple[str, ...], means: str) -> tuple[ChatCard, tuple[str, ...]]:
        """Return the card that the first words name (by default the last waiting one), and the remaining words."""
        fits = [card for card in self._chat.waiting() if any(_key_fits(key, means) for key in card.keys)]
        rest = list(words)
        while rest and (some := [card for card in fits if rest[0] in (card.run, card.action, card.id)]):
            fits = some
            rest.pop(0)
        if not fits:
            raise Invalid("nothing waits for that", hint="/review shows what waits")
        return fits[-1], tuple(rest)


def _text_after(rest: str, count: int) -> str:
    """Return what follows the first words of a text, with its blanks and lines as they were typed."""
    parts = rest.split(maxsplit=count)
    return parts[count] if len(parts) > count else ""


def _key_fits(key: CardKey, means: str) -> bool:
    return key.means == means or (means == "approve" and key.means == "start")


def _require_key(card: ChatCard, letter: str) -> CardKey:
    key = card.key(letter)
    if key is None:
        raise Invalid(f"{one_line(letter, 20)} is not a key of this card", hint="? explains the keys of a card")
    return key
