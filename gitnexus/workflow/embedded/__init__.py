"""The embedded specialists: research, plans, work and reviews by rule, with no model and no network.

They quote, list and carry out what somebody wrote. What nobody wrote they say they cannot do, by a BLOCKED result that
asks for it. The same order gives the same bytes.
"""

from gitnexus.base.errors import Failed
from gitnexus.workflow.embedded.executing import executed
from gitnexus.workflow.embedded.planning import planned
from gitnexus.workflow.embedded.replanning import replanned
from gitnexus.workflow.embedded.research import researched
from gitnexus.workflow.embedded.reviewing import reviewed
from gitnexus.workflow.specialist import Order, Output, Returned

NAME = "embedded"
__all__ = ["NAME", "Embedded", "executed", "planned", "replanned", "researched", "reviewed"]


class Embedded:
    """All three specialists in one: which one is needed, the node says."""

    name = NAME

    def work(self, order: Order) -> Returned:
        """Do a node's work by rule. Raises: Failed for a kind of node that is nobody's work."""
        return Returned(output=_output(order))


def _output(order: Order) -> Output:
    match order.node.type:
        case "research":
            return researched(order)
        case "plan":
            return planned(order)
        case "plan_patch":
            return replanned(order)
        case "exec":
            return executed(order)
        case "review":
            return reviewed(order)
        case _:
            raise Failed(f"a node of type {order.node.type} is run as it stands, no specialist is asked")
