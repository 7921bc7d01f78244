"""The gateway: executes every tool's side effect only after the gate has judged it and a matching token is spent."""

from gitnexus.gateway.execute import ExecutionGate, GatedAction, execute_through_gate
from gitnexus.gateway.tool_context import ToolContext

__all__ = ["ExecutionGate", "GatedAction", "ToolContext", "execute_through_gate"]
