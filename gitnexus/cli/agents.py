"""`git nexus agents`: show the roles that agents take, or one of them with its prompt."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import make_visible, one_line
from gitnexus.ui.catalog import with_catalog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer

if TYPE_CHECKING:
    from gitnexus.app.catalog import CatalogInForce


@click.command("agents", cls=NexusCommand)
@click.argument("name", required=False)
@with_catalog
def show_agents(here: "CatalogInForce", name: str | None) -> None:
    """Show the roles that agents take, or one of them with its prompt.

    Works anywhere. In a project, its settings may add capabilities, and its own catalog is used.
    """
    if name is not None:
        found = _role_as_json(here, name)
        print_answer({"agent": found, "source": here.catalog.source}, _format_role(found), here.described)
        return
    rows = [_role_as_row(here, name) for name in here.catalog.agents]
    print_answer({"agents": rows, "source": here.catalog.source}, _format_roles(here, rows), here.described)


def _role_as_row(here: "CatalogInForce", name: str) -> dict[str, Any]:
    agent = here.catalog.agent(name)
    return {
        "id": agent.id,
        "name": agent.name,
        "description": agent.description,
        "role": agent.task or agent.description,
        "category": agent.category,
        "resumeTier": agent.resume_tier,
        "modelTier": agent.model_tier,
        "canonicalCapabilities": list(agent.capabilities),
        "effectiveCapabilities": list(here.effective(name)),
    }


def _role_as_json(here: "CatalogInForce", name: str) -> dict[str, Any]:
    return {
        **_role_as_row(here, name),
        "deniedTools": {harness: list(tools) for harness, tools in here.denied(name).items()},
        "bodyHash": here.catalog.agent(name).body_hash,
        "prompt": here.catalog.body(f"agents/{name}"),
    }


def _format_roles(here: "CatalogInForce", rows: list[dict[str, Any]]) -> str:
    shown = [
        [row["id"], row["category"], row["resumeTier"], row["modelTier"], one_line(row["role"], 70)] for row in rows
    ]
    head = [["role", "category", "resume", "model", "for"]]
    tail = f"One with its prompt: git nexus agents NAME. The catalog: {one_line(here.catalog.source)}."
    return f"{format_columns(head + shown, indent='')}\n\n{tail}"


def _format_role(found: dict[str, Any]) -> str:
    added = [one for one in found["effectiveCapabilities"] if one not in found["canonicalCapabilities"]]
    rows = [
        ["role", one_line(found["role"])],
        ["category", found["category"]],
        ["resume tier", found["resumeTier"]],
        ["model tier", found["modelTier"]],
        ["canonical", ", ".join(found["canonicalCapabilities"]) or "nothing denied"],
        ["effective", ", ".join(found["effectiveCapabilities"]) or "nothing denied"],
        *([["added here", ", ".join(added)]] if added else []),
        ["body hash", one_line(found["bodyHash"])],
    ]
    tools = [[harness, ", ".join(tools) or "none"] for harness, tools in found["deniedTools"].items()]
    head = f"{found['id']}: {one_line(found['description'])}"
    prompt = make_visible(found["prompt"]).rstrip("\n")
    return "\n\n".join(
        [f"{head}\n{format_columns(rows)}", f"Denied tools:\n{format_columns(tools)}", f"Prompt:\n\n{prompt}"]
    )
