"""Adapters: turn a job into the command line of an agent program, and parse the output of that program."""

from gitnexus.adapters.protocol import (
    Adapter,
    AgentBudget,
    AgentEnd,
    AgentEvent,
    AgentJob,
    AgentLaunch,
    OutputReader,
    Way,
    check_job,
    why_budget_exceeded,
)

__all__ = [
    "Adapter",
    "AgentBudget",
    "AgentEnd",
    "AgentEvent",
    "AgentJob",
    "AgentLaunch",
    "OutputReader",
    "Way",
    "check_job",
    "why_budget_exceeded",
]
