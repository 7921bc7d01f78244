"""Takes what the agent of a run says that it needs, as an artifact of its step; the workflow acts once it ended."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.canonical import json_document
from gitnexus.base.errors import Invalid
from gitnexus.prompts.model import Blocked
from gitnexus.runs.actions.ask import ask_question, calling_node, refuse_run_that_ended
from gitnexus.runs.open_run import OpenRun
from gitnexus.workflow.outputs import REPORT


def report_block(run: OpenRun, blocked: Mapping[str, Any]) -> dict[str, Any]:
    """Record what the calling agent says that it needs; in a run without a workflow it is a question to a person.

    The workflow acts on it once the agent has ended. Raises: Invalid, Busy.
    """
    found = Blocked.from_value(dict(blocked), "blocked")
    if not found.question.strip():
        raise Invalid("say what exactly is missing")
    node = calling_node(run)
    if run.workflow() is None or not node:
        return {"question": ask_question(run, found.question), "status": "waiting"}
    refuse_run_that_ended(run)
    kept = run.artifacts.write(REPORT, json_document(found.plain()))
    body = {"name": kept.name, "digest": kept.digest, "size": kept.size, "node": node}
    run.log.append("artifact.written", run.agent_of_node(node), body)
    return {"status": "recorded", "then": "undo what you changed for it, and end now: you are started again"}
