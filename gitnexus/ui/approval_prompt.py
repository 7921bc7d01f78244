"""Asks the user about a card: one letter for each answer, no answer by Enter alone, and no default."""

import contextlib
import os
import sys
import termios
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from gitnexus.base.text import one_line
from gitnexus.policy.shown_cards import remember_shown
from gitnexus.ui.card import draw_card, folded_parts
from gitnexus.ui.paging import show_in_pager

if TYPE_CHECKING:
    from gitnexus.gateway.assemble import AskPerson, RevealCard
    from gitnexus.gateway.card import Card
    from gitnexus.policy.model import Scope

_LETTERS: "dict[str, Scope]" = {
    "y": "once", "s": "session", "p": "path", "r": "repository", "a": "argv", "w": "workflow",
}  # fmt: skip
_WORDS = {
    "once": "yes, this once",
    "session": "yes, in this run",
    "path": "yes, for these files",
    "repository": "yes, in this repository",
    "argv": "yes, for this very command",
    "workflow": "yes, in this workflow",
}
# What programs of agents set for what they start.
_AGENTS = ("NEXUS_AGENT", "CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE")
# From here on a letter is not enough.
_RISKY = 3


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """The user's answer: yes with a scope, no with a reason, or none yet."""

    verdict: Literal["approved", "denied", "later", "edit"]
    scope: "Scope" = "once"
    reason: str = ""


def is_person_at_terminal() -> bool:
    """Return True if a person uses the terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def is_started_by_agent() -> bool:
    """Return True if an agent's program started this process: then no person sees its output."""
    return any(os.environ.get(name) for name in _AGENTS)


def ask_about_card(
    card: "Card", reveal: "RevealCard | None" = None, *, name: str = "", editable: bool = False
) -> PersonAnswer:
    """Show a card and ask until there is an answer. End of input or Ctrl-D leaves it waiting.

    A letter approves what was shown: folded parts have to be unfolded and hidden ones revealed first. The digest itself
    approves the rest, without showing it.
    """
    viewed = _show_card(card, name)
    keys = {letter: scope for letter, scope in _LETTERS.items() if any(offer.scope == scope for offer in card.offers)}
    if card.verdict == "deny":
        keys = {}
    while True:
        word = ask_line(_format_question(keys, editable, hides=bool(card.hidden and reveal)))
        if word is None or word in ("q", "l"):
            return PersonAnswer("later")
        if word in ("d", "n"):
            return PersonAnswer("denied", reason=ask_line("Why not?") or "")
        if word == "e" and editable:
            return PersonAnswer("edit")
        if keys and (scope := _scope_of_yes(card, word, keys, viewed)):
            return PersonAnswer("approved", scope)
        if word == "u" and reveal and card.hidden and (why := ask_line("Why do you have to see it?")):
            card = reveal(why)
            viewed = _show_card(card, name)
        viewed = _show_help(word, card, keys, name, editable=editable) or viewed


def _scope_of_yes(card: "Card", word: str, keys: "dict[str, Scope]", viewed: bool) -> "Scope | None":
    """Return the scope of an approval, None if the answer is not one, or not yet."""
    if word == card.digest:
        return "once"
    if word not in keys:
        return None
    if why := _unseen_reason(card, viewed):
        click.secho(f"not yet: {why}", fg="yellow", err=True)
        return None
    sure = card.risk < _RISKY or ask_line("This is risky. Type approve to continue:") == "approve"
    return keys[word] if sure else None


def _show_help(word: str, card: "Card", keys: "dict[str, Scope]", name: str, *, editable: bool) -> bool:
    """Show the whole card or the keys, if requested; return True if the whole card was shown."""
    if word == "?":
        _print_key_help(card, keys, editable)
    return word == "v" and _show_whole_card(card, name)


def _unseen_reason(card: "Card", viewed: bool) -> str:
    """Return the reason why one letter cannot approve: the parts not shown, and the key that shows them."""
    if card.missing:
        return f"{one_line('; '.join(card.missing), 400)}; to approve that unseen, type the digest"
    if card.hidden_at:
        return f"{card.hidden}; u shows what is hidden, or type the digest"
    if not viewed:
        return f"{one_line(', '.join(folded_parts(card)), 400)} were not shown; v shows all of it"
    return ""


def person_at_terminal() -> "AskPerson":
    """Ask the user for the gateway; return the scope of an approval, None for later. Raises: DeniedByPolicy."""

    def answer(card: "Card", reveal: "RevealCard") -> "Scope | None":
        from gitnexus.gateway.assemble import refusal_error

        found = ask_about_card(card, reveal)
        if found.verdict == "denied":
            raise refusal_error(found.reason)
        return found.scope if found.verdict == "approved" else None

    return answer


def _show_whole_card(card: "Card", name: str) -> bool:
    """Show a whole card on the terminal that asks (standard output may be a file); return True if all was written."""
    text = "\n".join(draw_card(card, whole=True, name=name))
    if not sys.stdout.isatty():
        click.echo(text, err=True)
    elif not show_in_pager(text):
        click.echo("the pager did not take all of it, so not all counts as shown; v shows it again", err=True)
        return False
    if card.is_whole:
        remember_shown(card.digest)
    return True


def _show_card(card: "Card", name: str) -> bool:
    """Show a card; return True if nothing of it is folded."""
    click.echo("\n".join(draw_card(card, name=name)), err=True)
    if folded_parts(card):
        return False
    if card.is_whole:
        remember_shown(card.digest)
    return True


def _format_question(keys: "dict[str, Scope]", editable: bool, *, hides: bool) -> str:
    letters = [*keys, *(["e"] if editable else []), "d", "v", *(["u"] if hides else []), "q", "?"]
    return f"Approve? [{'/'.join(letters)}]"


def _print_key_help(card: "Card", keys: "dict[str, Scope]", editable: bool) -> None:
    also = {offer.scope: offer.also for offer in card.offers}
    rows = [f"  {letter}  {_WORDS[scope]}: {one_line(also[scope], 160)}" for letter, scope in keys.items()]
    rows += ["  e  edit it; what comes out is a new proposal"] if editable else []
    rows += ["  u  show the secrets that are hidden; that is recorded"] if card.hidden else []
    rows += ["  d  no, with a reason", "  v  see all of it", "  q  leave it waiting; git nexus review comes back to it"]
    click.echo("\n".join(rows), err=True)


def ask_line(question: str) -> str | None:
    """Return one line that was typed after the question was shown, None at the end of input."""
    _discard_typed_input()
    try:
        typed: str = click.prompt(question, prompt_suffix=" ", default="", show_default=False, err=True)
    except click.Abort:
        return None
    return typed.strip()


def _discard_typed_input() -> None:
    """Discard what was typed before the question was shown: a key held down answers nothing."""
    with contextlib.suppress(ImportError, OSError):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
