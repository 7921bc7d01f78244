"""Renders the note for a restarted agent: answers to its questions, and the outcome of its proposals."""

from gitnexus.base.text import one_line
from gitnexus.runs.open_run import OpenRun


def render_resume_note(run: OpenRun) -> str:
    """Return a paragraph for the prompt of a later attempt; "" for the first."""
    view = run.view()
    if not any(node.attempts > 1 for node in view.nodes.values()):
        return ""
    asked: dict[str, str] = {}
    lines = []
    for event in run.log.read():
        if event.kind == "question.asked":
            asked[event.body["question"]] = event.body["text"]
        elif event.kind == "question.answered":
            question = asked.get(event.body["question"], "")
            lines.append(f"- You asked: {one_line(question, 400)} The answer: {event.body['text']}")
    for name, one in view.actions.items():
        why = f": {one_line(one.why, 400)}" if one.why else ""
        lines.append(f"- {name} ({one_line(one.summary, 100)}) is {one.status}{why}")
    return "\n\nSince you began:\n" + "\n".join(lines) + "\n" if lines else ""
