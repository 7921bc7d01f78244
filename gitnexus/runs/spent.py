"""Decides from a log whether an order is used up: it covers the run up to the next question to a person, or its end."""

from collections.abc import Sequence

from gitnexus.events.fold import POLICY, fold
from gitnexus.events.model import Event
from gitnexus.runs.model import ENDED
from gitnexus.runs.order import RunOrder


def why_order_done(order: RunOrder, events: Sequence[Event]) -> str:
    """Return why an order no longer allows driving its run, "" if it still does. Raises: Failed."""
    view = fold(events)
    if view.status in ENDED:
        return "it was carried out already"
    if order.after is not None and view.seq < order.after:
        return f"its log ends at event {view.seq}, and the order continues after event {order.after}"
    if view.status == "waiting":
        return (
            f"it was carried out until it had to wait for a person: git nexus review {order.id} shows for what, and "
            f"git nexus approve {order.id} --queue lets a worker continue"
        )
    if order.after is not None and _person_answered_after(events, order.after):
        return (
            "it was carried out until it waited for a person, and who answered did not order more: "
            f"git nexus resume {order.id} --queue does"
        )
    return ""


def _person_answered_after(events: Sequence[Event], after: int) -> bool:
    """True if the run asked a person after event `after` and was answered."""
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
    """Return the question or action that a person answers in an event, "" for other events."""
    if event.kind == "question.answered":
        return str(event.body["question"])
    is_answer = event.kind in ("permission.granted", "permission.denied")
    return str(event.body["action"]) if is_answer and event.body.get("by") not in ("", POLICY, None) else ""
