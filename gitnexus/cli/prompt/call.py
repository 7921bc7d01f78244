"""`git nexus prompt`: the typed questions to a model, for people who want to read or try them."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusGroup
from gitnexus.ui.output import answer, columns, note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.prompts import Reply

_LARGEST = 4 * 2**20


@click.group("prompt", cls=NexusGroup)
def prompt() -> None:
    """Typed questions to a model: named inputs, an answer that has a form, any OpenAI-compatible server.

    The words are BAML files; a project's own lie in .nexus/baml/ and count once they are signed.
    """


@prompt.command("list")
@with_nexus
def list_command(nexus: "Nexus") -> None:
    """List the functions, whose words they have, and which model each would ask."""
    from gitnexus.app.prompts import prompt_settings
    from gitnexus.prompts import FUNCTIONS

    settings = prompt_settings(nexus.state)
    words = _words(nexus)
    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "about": one.about,
            "file": one.file,
            "words": "project" if one.file in words.own else "built-in",
            "via": settings.via,
            "model": settings.functions.get(one.name, settings.endpoint).model,
        }
        for one in FUNCTIONS.values()
    ]
    shown = columns([[row["name"], row["about"], row["words"], one_line(row["model"], 60) or "no model set"]
                     for row in rows], indent="")  # fmt: skip
    ignored = [{"file": name, "why": why} for name, why in words.ignored.items()]
    answer({"prompts": rows, "ignored": ignored}, shown, nexus.described)


@prompt.command("show")
@click.argument("name")
@with_nexus
def show(nexus: "Nexus", name: str) -> None:
    """Show the words of a function, and the JSON Schemas of what goes in and what comes out."""
    from gitnexus.prompts import function_named
    from gitnexus.prompts.schema import schema_of
    from gitnexus.prompts.words import prompt_in

    one = function_named(name)
    words = _words(nexus)
    text = prompt_in(words.files, one).strip("\n")
    forms = {"input": schema_of(one.inputs, f"{name}.input"), "output": schema_of(one.output, name)}
    told = [visible(text), *(f"{key}:\n{json.dumps(form, indent=2)}" for key, form in forms.items())]
    payload = {"name": name, "file": one.file, "words": "project" if one.file in words.own else "built-in",
               "text": text, **forms}  # fmt: skip
    answer(payload, "\n\n".join(told), nexus.described)


@prompt.command("call")
@click.argument("name")
@click.argument("given", metavar="JSON")
@click.option("--via", type=click.Choice(["baml", "pydantic-ai"]), help="Which way to ask; else what the settings say.")
@with_nexus
def call(nexus: "Nexus", name: str, given: str, via: Any) -> None:
    """Ask one function, and print its checked answer. JSON is an object of its inputs, or - for stdin.

    What leaves is redacted. A model's answer is only printed: nothing is run or written by it.
    """
    from gitnexus.app.prompts import prompter_of
    from gitnexus.prompts import function_named

    function = function_named(name)
    _words(nexus)
    reply = prompter_of(nexus.state, via).call(name, _object(given), function.output)
    note(_spent(reply))
    for one in reply.wrong:
        note(f"before that: {one}")
    plain = reply.output.plain()
    payload = {"prompt": name, "via": reply.via, "model": reply.model, "output": plain, "attempts": reply.attempts,
               "wrong": list(reply.wrong), "tokens": {"input": reply.tokens_in, "output": reply.tokens_out},
               "costUsd": reply.cost_usd}  # fmt: skip
    answer(payload, lambda: visible(json.dumps(plain, indent=2, ensure_ascii=False)), nexus.described)


def _words(nexus: "Nexus") -> Any:
    from gitnexus.app.prompts import unsigned, words_of

    words = words_of(nexus.state)
    for name, why in words.ignored.items():
        note(f".nexus/baml/{name} does not count: {why}")
    for key in unsigned(nexus.state):
        note(f"{key} of the project's settings does not count before git nexus policy trust")
    return words


def _object(given: str) -> dict[str, Any]:
    raw = sys.stdin.buffer.read(_LARGEST + 1) if given == "-" else given.encode("utf-8", "surrogateescape")
    if len(raw) > _LARGEST:
        raise Invalid(f"the inputs are larger than {_LARGEST // 2**20} MiB")
    value = parse(raw)
    if not isinstance(value, dict):
        raise Invalid("the inputs should be a JSON object", hint='as in {"question": "where is the config read?"}')
    return value


def _spent(reply: "Reply[Any]") -> str:
    tokens = "unknown" if reply.tokens_in is None else f"{reply.tokens_in} in, {reply.tokens_out} out"
    cost = "" if reply.cost_usd is None else f", {reply.cost_usd:.4f} USD"
    return f"{reply.model} through {reply.via}: {reply.attempts} asked, tokens {tokens}{cost}"
