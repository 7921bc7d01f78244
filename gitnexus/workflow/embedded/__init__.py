"""The embedded specialists: research, planning, execution and review by rule, without a model or network.

They quote, list and carry out what somebody wrote. Anything else gives a BLOCKED result that asks for it. The same
order gives the same bytes.
"""

from gitnexus.base.errors import Failed
from gitnexus.workflow.embedded.executing import execute_by_rule
from gitnexus.workflow.embedded.planning import plan_by_rule
from gitnexus.workflow.embedded.replanning import replan_by_rule
from gitnexus.workflow.embedded.research import research_by_rule
from gitnexus.workflow.embedded.reviewing import review_by_rule
from gitnexus.workflow.specialist import Output, WorkOrder, WorkResult

NAME = "embedded"
__all__ = [
    "NAME",
    "EmbeddedSpecialist",
    "execute_by_rule",
    "plan_by_rule",
    "replan_by_rule",
    "research_by_rule",
    "review_by_rule",
]


class EmbeddedSpecialist:
    """All three specialists in one; the type of the node selects which is used."""

    name = NAME

    def work(self, order: WorkOrder) -> WorkResult:
        """Do a node's work by rule. Raises: Failed for a type of node without a specialist."""
        return WorkResult(output=_output_by_type(order))


def _output_by_type(order: WorkOrder) -> Output:
    match order.node.type:
        case "research":
            return research_by_rule(order)
        case "plan":
            return plan_by_rule(order)
        case "plan_patch":
            return replan_by_rule(order)
        case "exec":
            return execute_by_rule(order)
        case "review":
            return review_by_rule(order)
        case _:
            raise Failed(f"a node of type {order.node.type} is run as it is, without a specialist")
