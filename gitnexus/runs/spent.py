"""Whether an order was done: it reaches from where its log stood to where the run next waits for a person, or ends."""

from collections.abc import Sequence

from gitnexus.events.fold import POLICY, fold
from gitnexus.events.model import Event
from gitnexus.runs.model import ENDED
from gitnexus.runs.order import Order


def why_spent(order: Order, events: Sequence[Event]) -> str:
    """Return why nobody drives a run any more for an order, nothing if the order still stands. Raises: Failed."""
    view = fold(events)
    if view.status in ENDED:
        return "it was carried out already"
    if order.after is not None and view.seq < order.after:
        return f"its log ends at event {view.seq}, and the order is to go on after event {order.after}"
    if view.status == "waiting":
        return (
            f"it was carried out until it waits for a person: git nexus review {order.id} shows for what, and "
            f"git nexus approve {order.id} --queue lets a worker go on"
        )
    if order.after is not None and _is_answered(events, order.after):
        return (
            "it was carried out until it waited for a person, and who answered did not order more: "
            f"git nexus resume {order.id} --queue does"
        )
    return ""


def _is_answered(events: Sequence[Event], after: int) -> bool:
    """True if the run asked a person something after that event, and one answered."""
    asked = set()
    for event in events:
        if event.seq <= after:
            continue
        if event.kind == "question.asked":
            asked.add(event.body["question"])
        elif event.kind == "action.judged" and event.body["verdict"] == "ask":
            asked.add(event.body["action"])
        elif _answered_by_a_person(event) in asked:
            return True
    return False


def _answered_by_a_person(event: Event) -> str:
    """Return the question or the action that a person answers in an event, nothing for any other event."""
    if event.kind == "question.answered":
        return str(event.body["question"])
    is_answer = event.kind in ("permission.granted", "permission.denied")
    return str(event.body["action"]) if is_answer and event.body.get("by") not in ("", POLICY, None) else ""
