"""`git nexus hook harness H EVENT`: what the hooks of a harness call, with what happened as JSON on stdin."""

import sys

_LARGEST = 16 * 1024 * 1024
_EVENTS = ("post_tool_use",)


def run_harness_hook(args: list[str]) -> int:
    """Note what happened. Bookkeeping never stops an agent: a failure is told, and the status is 0."""
    if len(args) != 2 or args[1] not in _EVENTS:
        sys.stderr.write(f"git nexus: hook harness takes a harness and one of {', '.join(_EVENTS)}\n")
        return 1  # not 2: that would take the tool's answer away from the agent
    raw = sys.stdin.buffer.read(_LARGEST)
    # Called after every tool: what cannot be about a note leaves before anything is imported.
    if b".nexus" not in raw:
        return 0
    from gitnexus.base.errors import NexusError

    try:
        _noted(args[0], raw)
    except (NexusError, OSError, ValueError) as exc:
        sys.stderr.write(f"git nexus: a read was not counted: {getattr(exc, 'message', exc)}\n")
    return 0


def _noted(name: str, raw: bytes) -> None:
    import json

    from gitnexus.catalog.harnesses import harness_named
    from gitnexus.harness.reads import observe_reads

    payload = json.loads(raw)
    if isinstance(payload, dict):
        observe_reads(harness_named(name), payload)
