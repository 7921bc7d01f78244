"""Parses a typed text into a slash command, tags, or a request in plain words. Pure."""

import shlex
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line


class SlashCommand(NamedTuple):
    """A command of the chat: its name, its arguments, and one line about it."""

    name: str
    takes: str
    about: str


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(
        "run", "[OPTIONS] [PROMPT] [-- CMD…]", "Start a run with the options of git nexus run, without a card first."
    ),
    SlashCommand("plan", "[show|decide|… | TOPIC]", "Show the open plan, or begin to plan a topic."),
    SlashCommand("tasks", "[OPTIONS | VERB …]", "List the tasks, or do something with one as git nexus task does."),
    SlashCommand("memory", "[WORDS | VERB …]", "List the notes, search them, or do what git nexus memory does."),
    SlashCommand("m", "TEXT", "Store a note in the memory."),
    SlashCommand("rule", "[TEXT]", "List the rules, or add one."),
    SlashCommand("d", "TEXT", "Record a decision of the open plan."),
    SlashCommand("policy", "[VERB …]", "Show what agents may do, or change it as git nexus policy does."),
    SlashCommand(
        "mode", "[default|acceptEdits|autopilot|bypass]", "Show how much is asked, or set it for runs from here."
    ),
    SlashCommand(
        "trace", "on|off", "Show the delegation graph, raw messages of agents and the time of nodes, or hide them."
    ),
    SlashCommand(
        "review", "[RUN] [ACTION]", "Show the cards that wait again; in lines, the last one shown is what keys answer."
    ),
    SlashCommand("approve", "KEY [RUN] [ACTION]", "Answer a card by its key, as text: /approve y RUN a1."),
    SlashCommand("deny", "[RUN] [ACTION] [REASON]", "Say no to what waits."),
    SlashCommand("answer", "[RUN] TEXT", "Answer what an agent asked."),
    SlashCommand("show", "[RUN ACTION]", "Print a card with all that is folded."),
    SlashCommand("land", "[RUN] [OPTIONS]", "Merge the approved commits of a run into the current branch."),
    SlashCommand("replay", "[RUN]", "Show what happened in a run, from its log."),
    SlashCommand("resume", "[RUN]", "Continue a run that stopped."),
    SlashCommand("stop", "[RUN]", "Stop what a run does now; it can be resumed. Esc does the same."),
    SlashCommand("cancel", "[RUN]", "End a run permanently; its branch stays."),
    SlashCommand("diff", "[RUN]", "Show what a run changed."),
    SlashCommand("runs", "[--all]", "List the runs."),
    SlashCommand("use", "RUN", "Select the run for commands that name none."),
    SlashCommand("agents", "[NAME]", "List the roles that agents take."),
    SlashCommand("status", "", "Show the mode, the active run and what waits, then the status of the project."),
    SlashCommand("export", "[FILE]", "Write the conversation to a new file."),
    SlashCommand("help", "", "Show commands and keys."),
    SlashCommand("quit", "", "Leave. Runs continue, and are shown again next time."),
)
NAMES = tuple(one.name for one in COMMANDS)
_TASK_VERBS = frozenset("add list update complete cancel delete relate next claim import export".split())
_MEMORY_VERBS = frozenset("add list show search merge gc restore stats".split())
_PLAN_VERBS = frozenset("show start add decide reopen".split())
_ABOUT_A_RUN = frozenset({"land", "replay", "diff", "cancel"})


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command of git nexus whose output is shown. `about_run`: the active run is added if none is named."""

    argv: tuple[str, ...]
    about_run: bool = False


@dataclass(frozen=True, slots=True)
class LocalCommand:
    """A command that the chat itself carries out."""

    name: str
    words: tuple[str, ...]
    rest: str


@dataclass(frozen=True, slots=True)
class TaggedMessage:
    """A message with tags at the beginning of its lines, or a command with the same meaning."""

    text: str


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """A request in plain words."""

    text: str


Intent = ChatCommand | LocalCommand | TaggedMessage | PlainRequest


def parse_chat_input(text: str, macros: Collection[str] = ()) -> Intent | None:
    """Return the meaning of a text, None for an empty one. `macros` are workflows by name. Raises: Invalid."""
    stripped = text.strip()
    if not stripped:
        return None
    if not stripped.startswith("/") or stripped.startswith("//"):
        plain = stripped.removeprefix("/") if stripped.startswith("//") else text.strip("\n")
        return TaggedMessage(plain) if plain.lstrip().startswith("[") or "\n[" in plain else PlainRequest(plain.strip())
    name, _, rest = stripped[1:].partition(" ")
    if "\n" in name:
        name, _, rest = stripped[1:].partition("\n")
    if name in NAMES:
        return _parse_slash_command(name, rest.strip())
    if name in macros:
        return PlainRequest(stripped)
    near = get_close_matches(name, [*NAMES, *macros], n=1, cutoff=0.5)
    raise Invalid(
        f"there is no /{one_line(name, 40)}",
        hint=f"did you mean /{near[0]}?" if near else "/help lists them; // begins a text that begins with a slash",
    )


def _parse_slash_command(name: str, rest: str) -> Intent:
    first = rest.split(maxsplit=1)[0] if rest else ""
    if name in ("m", "d") and not rest:
        raise Invalid(f"/{name} needs a text", hint=f"/{name} {COMMANDS[NAMES.index(name)].takes}")
    if (name in ("m", "d", "rule") and rest) or (name == "plan" and rest and first not in _PLAN_VERBS):
        return TaggedMessage(f"[{name}] {rest}")
    words = _split_words(rest) if name not in ("answer", "deny") else tuple(rest.split())
    if name in _ABOUT_A_RUN:
        return ChatCommand((name, *words), about_run=True)
    argv = _nexus_argv(name, words, first, rest)
    return ChatCommand(argv) if argv else LocalCommand(name, words, rest)


def _nexus_argv(name: str, words: tuple[str, ...], first: str, rest: str) -> tuple[str, ...]:
    """Return the git nexus command for a chat command, empty for one that the chat itself carries out."""
    match name:
        case "rule":
            return ("rule", "list")
        case "plan" | "policy":
            return (name, *(words or ("show",)))
        case "tasks":
            return ("task", *words) if first in _TASK_VERBS else ("task", "list", *words)
        case "memory" if first in _MEMORY_VERBS:
            return ("memory", *words)
        case "memory":
            return ("memory", "search", rest) if rest else ("memory", "list")
        case "agents" | "runs" | "status":
            return (name, *words)
    return ()


def _split_words(rest: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(rest))
    except ValueError as exc:
        raise Invalid(f"the quotation marks do not close: {one_line(rest, 80)}") from exc


def chat_help_text(keys: str) -> str:
    """Return the text of /help."""
    width = max(len(f"/{one.name} {one.takes}") for one in COMMANDS if len(one.takes) < 30)
    rows = [f"{f'/{one.name} {one.takes}'.ljust(width)}  {one.about}" for one in COMMANDS]
    tags = "[plan] [run] [sync] [d] [m] [rule:NAME] at the beginning of a line do what they do in your program."
    return "\n".join([*rows, "", tags, "Anything else is a request: a workflow is proposed for it.", "", keys])
