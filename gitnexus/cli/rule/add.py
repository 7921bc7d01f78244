"""`git nexus rule`: what the project's people ask of everybody who works here."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusGroup
from gitnexus.ui.output import answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.group("rule", cls=NexusGroup)
def rule() -> None:
    """Rules of the project: advice that is never forgotten, one file a tag in .nexus/rules/."""


@rule.command("add")
@click.argument("text")
@click.option("--tag", metavar="TAG", help="What it is about, one word; general if not said.")
@with_nexus
def add(nexus: "Nexus", text: str, tag: str | None) -> None:
    """Add a rule."""
    from gitnexus.app.notes import notes_of
    from gitnexus.memory.rules import add_rule

    name, words = add_rule(notes_of(nexus.state), text, tag)
    payload = {"tag": name, "rule": words, "path": f"rules/{name}.md"}
    answer(payload, f"Added to {name}: {one_line(words, 100)}", nexus.described)


@rule.command("list")
@click.option("--tag", metavar="TAG", help="Only the rules of this tag.")
@with_nexus
def list_command(nexus: "Nexus", tag: str | None) -> None:
    """List the rules by tag."""
    from gitnexus.memory.rules import listed

    found = {name: rules for name, rules in listed(nexus.state.latest()).items() if tag in (None, name)}
    blocks = [
        f"{name}\n" + "\n".join(f"  - {one_line(words, 160)}" for words in rules) for name, rules in found.items()
    ]
    answer({"rules": found}, "\n".join(blocks) or "No rules yet.\nNext: git nexus rule add TEXT", nexus.described)


@rule.command("show")
@click.argument("tag")
@with_nexus
def show(nexus: "Nexus", tag: str) -> None:
    """Print the whole file of a tag."""
    from gitnexus.memory.notes import readable
    from gitnexus.memory.rules import shown

    text = shown(nexus.state.latest(), "rules", tag)
    answer({"tag": tag, "text": readable(text)}, visible(text).rstrip("\n"), nexus.described)
