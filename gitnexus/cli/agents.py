"""`git nexus agents`: the roles."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.catalog import with_catalog
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, columns

if TYPE_CHECKING:
    from gitnexus.app.catalog import CatalogHere


@click.command("agents", cls=NexusCommand)
@click.argument("name", required=False)
@with_catalog
def agents(here: "CatalogHere", name: str | None) -> None:
    """Show the roles that agents take, or one of them with its prompt.

    Works anywhere. In a project, capabilities that its settings add are counted, and a catalog of its own is used.
    """
    if name is not None:
        found = _one(here, name)
        answer({"agent": found, "source": here.catalog.source}, _page(found), here.described)
        return
    rows = [_row(here, name) for name in here.catalog.agents]
    answer({"agents": rows, "source": here.catalog.source}, _screen(here, rows), here.described)


def _row(here: "CatalogHere", name: str) -> dict[str, Any]:
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


def _one(here: "CatalogHere", name: str) -> dict[str, Any]:
    return {
        **_row(here, name),
        "deniedTools": {harness: list(tools) for harness, tools in here.denied(name).items()},
        "bodyHash": here.catalog.agent(name).body_hash,
        "prompt": here.catalog.body(f"agents/{name}"),
    }


def _screen(here: "CatalogHere", rows: list[dict[str, Any]]) -> str:
    shown = [[row["id"], row["category"], row["resumeTier"], row["modelTier"], one_line(row["role"], 70)]
             for row in rows]  # fmt: skip
    head = [["role", "category", "resume", "model", "for"]]
    tail = f"One with its prompt: git nexus agents NAME. The catalog: {one_line(here.catalog.source)}."
    return f"{columns(head + shown, indent='')}\n\n{tail}"


def _page(found: dict[str, Any]) -> str:
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
    prompt = visible(found["prompt"]).rstrip("\n")
    return "\n\n".join([f"{head}\n{columns(rows)}", f"Denied tools:\n{columns(tools)}", f"Prompt:\n\n{prompt}"])
