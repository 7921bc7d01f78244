"""Makes what accompanies a model's call in a run: its tools, what is shown of its answer, and the kept exchange."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.canonical import json_document
from gitnexus.events.kinds import shorten_text
from gitnexus.prompts.chat import PromptSession
from gitnexus.runs.agent.run import Show
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.model_output import ModelOutput
from gitnexus.runs.workflow.model_tools import RunModelTools
from gitnexus.workflow.specialist import WorkOrder

# Begins the name of the artifact with all that was said in one call.
EXCHANGE = "exchange-"


def make_model_session(run: OpenRun, order: WorkOrder, tip: str, show: Show) -> PromptSession:
    """Return the session for one call of a model that works on a node at the commit `tip`. Raises: NexusError."""
    output = ModelOutput(run, order.node, show)

    def record(exchange: Mapping[str, Any]) -> None:
        output.finish()
        found = {**exchange, "node": order.node.id, "step": order.step}
        kept = run.artifacts.write(f"{EXCHANGE}{order.node.id}.json", json_document(found))
        # Without `node`: it is no result of the node.
        run.log.append("artifact.written", "nexus", {"name": kept.name, "digest": kept.digest, "size": kept.size})

    def note(text: str) -> None:
        run.log.append("agent.progress", "nexus", {"text": shorten_text(text), "node": order.node.id})
        order.say(text)

    tools = RunModelTools(run, order, tip, show)
    return PromptSession(tools, output.feed, record, note, order.deadline)
