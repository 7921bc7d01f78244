"""Handles the start of a harness session: answers with what it finds, and what waits for the user's approval."""

from pathlib import Path

from gitnexus.git import discover
from gitnexus.harness.begin import begin_session
from gitnexus.harness.model import MOST_CONTEXT, HarnessEvent, HookAnswer
from gitnexus.harness.session_files import SessionFiles, find_session_files
from gitnexus.projects.open_state import open_state


def handle_session_start(event: HarnessEvent) -> HookAnswer:
    """Prepare the session and return what it should know. Raises: NexusError, OSError."""
    if event.source == "compact":  # no start: the same session, with less of its memory
        from gitnexus.harness.snapshot import handle_compaction

        return handle_compaction(event)
    files = find_session_files(event)
    if files is None:
        from gitnexus.toolgate.no_project import why_gate_shut

        words = why_gate_shut(event.harness, event.cwd or str(Path.cwd()))
        return HookAnswer(context=words, notice=words)
    found = begin_session(files, event)
    waits = _describe_waiting_runs(files)
    context = "\n".join(part for part in (found.context, waits) if part)[:MOST_CONTEXT]
    return HookAnswer(context=context, notice="\n".join(part for part in (found.warning, waits) if part))


def _describe_waiting_runs(files: SessionFiles) -> str:
    """Return a line about the waiting runs of this project."""
    state = open_state(discover(Path(files.location.top)))
    try:
        if not state.exists or not state.latest().names("runs"):
            return ""
        from gitnexus.runs.list import waiting_runs  # most projects have no runs

        found = waiting_runs(state)
        ids = [run.record.id for run in found.runs]
    finally:
        state.close()
    if not ids:
        return ""
    more = f" and {len(ids) - 5 + found.more} more" if len(ids) > 5 else ""
    return f"git nexus: waiting for a person's answer: {', '.join(ids[:5])}{more} (git nexus review)."
