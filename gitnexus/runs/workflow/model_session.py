"""Makes what accompanies a model's call in a run: its tools, what is shown of its answer, and the kept exchange."""

import json
from collections.abc import Mapping
from typing import Any

from gitnexus.events.kinds import shorten_text
from gitnexus.prompts.chat import PromptSession
from gitnexus.runs.agent.run import Show
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.model_output import ModelOutput
from gitnexus.runs.workflow.model_tools import RunModelTools
from gitnexus.workflow.specialist import WorkOrder

# Begins the name of the artifact with all that was said in one call.
EXCHANGE = "exchange-"
_LARGEST = 8 * 2**20
_LONGEST_CUT = 1000


def exchange_document(exchange: Mapping[str, Any]) -> bytes:
    """Return an exchange as a file; of one that is very large all long texts are cut."""
    raw = json.dumps(exchange, ensure_ascii=True).encode()
    if len(raw) <= _LARGEST:
        return raw
    return json.dumps(_with_short_texts(exchange), ensure_ascii=True).encode()


def _with_short_texts(value: Any) -> Any:
    if isinstance(value, str):
        return shorten_text(value, _LONGEST_CUT)
    if isinstance(value, Mapping):
        return {key: _with_short_texts(item) for key, item in value.items()}
    return [_with_short_texts(item) for item in value] if isinstance(value, list | tuple) else value


def make_model_session(run: OpenRun, order: WorkOrder, tip: str, show: Show) -> PromptSession:
    """Return the session for one call of a model that works on a node at the commit `tip`. Raises: NexusError."""
    output = ModelOutput(run, order.node, show)

    def record(exchange: Mapping[str, Any]) -> None:
        output.finish()
        raw = exchange_document({**exchange, "node": order.node.id, "step": order.step})
        kept = run.artifacts.write(f"{EXCHANGE}{order.node.id}.json", raw)
        # Without `node`: it is no result of the node.
        run.log.append("artifact.written", "nexus", {"name": kept.name, "digest": kept.digest, "size": kept.size})

    def note(text: str) -> None:
        run.log.append("agent.progress", "nexus", {"text": shorten_text(text), "node": order.node.id})
        order.say(text)

    tools = RunModelTools(run, order, tip, show)
    return PromptSession(tools, output.feed, record, note, order.deadline)
