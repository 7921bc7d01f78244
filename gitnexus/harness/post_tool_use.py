"""Handles the event after a tool call: logs the call, and answers with pending messages."""

from gitnexus.harness import edits, pending_messages, sessions, toollog
from gitnexus.harness.model import HarnessEvent, HookAnswer
from gitnexus.harness.moment import format_timestamp
from gitnexus.harness.session_files import find_session_files
from gitnexus.harness.touched import files_changed_by_call


def handle_tool_use(event: HarnessEvent) -> HookAnswer:
    """Record the call, the files it changed and the notes it read. Raises: NexusError, OSError."""
    session_files = find_session_files(event)
    if session_files is not None:
        since = max(toollog.last_at(session_files) or 0, sessions.started_at(session_files, event.session)) or None
        files = files_changed_by_call(event, session_files.location.top, since)
        toollog.log_tool_call(session_files, event, files)
        if files:
            edits.record_file_edits(session_files, files, event.agent_id, format_timestamp())
    # Called after every tool: what cannot be about a note leaves before anything more is imported.
    if any(".nexus" in str(value) for value in event.given.values()):
        from gitnexus.harness.reads import count_note_reads

        count_note_reads(event)
    waiting = (
        pending_messages.take_pending_messages(session_files, event.reader)
        if session_files is not None and event.hears
        else []
    )
    return HookAnswer(context="\n\n".join(waiting))
