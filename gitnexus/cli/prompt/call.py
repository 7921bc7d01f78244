"""`git nexus prompt call`: call one function, and print its checked answer."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.text import make_visible
from gitnexus.cli.prompt.words import read_words
from gitnexus.prompts import Reply, function_named
from gitnexus.prompts.in_project import open_prompter
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus

_LARGEST = 4 * 2**20


@click.command("call", cls=NexusCommand)
@click.argument("name")
@click.argument("given", metavar="JSON")
@click.option(
    "--via",
    type=click.Choice(["baml", "pydantic-ai"]),
    help="Which client library to use. Default: what the settings say.",
)
@with_nexus
def call_prompt(nexus: "Nexus", name: str, given: str, via: Any) -> None:
    """Call one function, and print its checked answer. JSON is an object of its inputs, or - for stdin.

    What is sent is redacted. The answer is only printed: it runs and writes nothing.
    """
    function = function_named(name)
    read_words(nexus)
    reply = open_prompter(nexus.state, via).call(name, _parse_inputs(given), function.output)
    print_note(_format_spending(reply))
    for one in reply.wrong:
        print_note(f"before that: {one}")
    plain = reply.output.plain()
    payload = {
        "prompt": name,
        "via": reply.via,
        "model": reply.model,
        "output": plain,
        "attempts": reply.attempts,
        "wrong": list(reply.wrong),
        "tokens": {"input": reply.tokens_in, "output": reply.tokens_out},
        "costUsd": reply.cost_usd,
    }
    print_answer(payload, lambda: make_visible(json.dumps(plain, indent=2, ensure_ascii=False)), nexus.described)


def _parse_inputs(given: str) -> dict[str, Any]:
    raw = sys.stdin.buffer.read(_LARGEST + 1) if given == "-" else given.encode("utf-8", "surrogateescape")
    if len(raw) > _LARGEST:
        raise Invalid(f"the inputs are larger than {_LARGEST // 2**20} MiB")
    value = parse_json(raw)
    if not isinstance(value, dict):
        raise Invalid("the inputs should be a JSON object", hint='as in {"question": "where is the config read?"}')
    return value


def _format_spending(reply: "Reply[Any]") -> str:
    tokens = "unknown" if reply.tokens_in is None else f"{reply.tokens_in} in, {reply.tokens_out} out"
    cost = "" if reply.cost_usd is None else f", {reply.cost_usd:.4f} USD"
    return f"{reply.model} through {reply.via}: {reply.attempts} asked, tokens {tokens}{cost}"
