"""What an agent that is started again has to know: what was answered, and what became of what it proposed."""

from gitnexus.app.rundesk import RunDesk
from gitnexus.base.text import one_line


def news(desk: RunDesk) -> str:
    """Return a paragraph for the prompt of a later attempt; nothing for the first."""
    view = desk.view()
    if not any(node.attempts > 1 for node in view.nodes.values()):
        return ""
    asked: dict[str, str] = {}
    lines = []
    for event in desk.log.read():
        if event.kind == "question.asked":
            asked[event.body["question"]] = event.body["text"]
        elif event.kind == "question.answered":
            question = asked.get(event.body["question"], "")
            lines.append(f"- You asked: {one_line(question, 400)} The answer: {event.body['text']}")
    for name, one in view.actions.items():
        why = f": {one_line(one.why, 400)}" if one.why else ""
        lines.append(f"- {name} ({one_line(one.summary, 100)}) is {one.status}{why}")
    return "\n\nSince you began:\n" + "\n".join(lines) + "\n" if lines else ""
