"""`git nexus capabilities`: show what roles may not do."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import make_visible, one_line
from gitnexus.catalog.effective import denied_harness_tools
from gitnexus.catalog.harnesses import HARNESSES, AbsentTool
from gitnexus.ui.catalog import with_catalog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer

if TYPE_CHECKING:
    from gitnexus.app.catalog import CatalogInForce


@click.command("capabilities", cls=NexusCommand)
@click.argument("name", required=False)
@with_catalog
def show_capabilities(here: "CatalogInForce", name: str | None) -> None:
    """Show what roles may not do, or one such capability with the tools it means in each harness.

    A project adds them to a role in its settings; none can be taken away.
    """
    if name is not None:
        found = _capability_as_json(here, name)
        print_answer({"capability": found, "source": here.catalog.source}, _format_capability(found), here.described)
        return
    rows = [_capability_as_row(here, name) for name in here.catalog.capabilities]
    shown = [[row["id"], one_line(row["description"], 60), _format_holders(here, row["agents"])] for row in rows]
    table = format_columns([["capability", "means", "held by"], *shown], indent="")
    text = f"{table}\n\nThe tools behind one: git nexus capabilities NAME"
    print_answer({"capabilities": rows, "source": here.catalog.source}, text, here.described)


def _format_holders(here: "CatalogInForce", roles: list[str]) -> str:
    """Return the roles that have a capability, or those that lack it, whichever list is shorter."""
    others = [role for role in here.catalog.agents if role not in roles]
    if len(roles) <= len(others):
        return ", ".join(roles) or "no role"
    return f"all but {', '.join(others)}" if others else "every role"


def _capability_as_row(here: "CatalogInForce", name: str) -> dict[str, Any]:
    capability = here.catalog.capability(name)
    return {
        "id": capability.id,
        "description": capability.description,
        "intent": capability.intent,
        "classes": list(capability.blocks_semantic_classes),
        "agents": [role for role in here.catalog.agents if name in here.effective(role)],
    }


def _capability_as_json(here: "CatalogInForce", name: str) -> dict[str, Any]:
    capability = here.catalog.capability(name)
    absent = {
        harness.id: {
            one: held.why
            for one in capability.blocks_semantic_classes
            if isinstance(held := harness.tools[one], AbsentTool)
        }
        for harness in HARNESSES.values()
    }
    return {
        **_capability_as_row(here, name),
        "deniedTools": {
            harness.id: list(denied_harness_tools(here.catalog, [name], harness)) for harness in HARNESSES.values()
        },
        "withoutTool": {harness: found for harness, found in absent.items() if found},
        "guidance": capability.prose_guidance,
    }


def _format_capability(found: dict[str, Any]) -> str:
    rows = [
        ["intent", one_line(found["intent"])],
        ["blocks", one_line(", ".join(found["classes"]), 400)],
        ["held by", ", ".join(found["agents"]) or "no role"],
    ]
    tools = [[harness, ", ".join(tools) or "none"] for harness, tools in found["deniedTools"].items()]
    for harness, absent in found["withoutTool"].items():
        tools += [[harness, f"{one}: {why}"] for one, why in absent.items()]
    guidance = make_visible(found["guidance"]).rstrip("\n")
    head = f"{found['id']}: {one_line(found['description'])}"
    return "\n\n".join([f"{head}\n{format_columns(rows)}", f"Denied tools:\n{format_columns(tools)}", guidance])
