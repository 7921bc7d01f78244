"""Handles a message of the user: follows its tags, and answers with the status of the session."""

import re
from typing import TYPE_CHECKING

from gitnexus.harness import pending_messages
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.guidance import message_guidance
from gitnexus.harness.model import MOST_CONTEXT, HarnessEvent, HookAnswer
from gitnexus.harness.moment import seconds_since
from gitnexus.harness.session_files import SessionFiles, find_session_files

if TYPE_CHECKING:
    from gitnexus.app.message_tags import TagOutcome

# What may be a tag at all: only then is the catalog opened.
_MAYBE = re.compile(r"^ {0,3}\[[a-z]", re.MULTILINE)
_LONGEST = 200_000
_HEARD_OF = 600


def handle_user_message(event: HarnessEvent) -> HookAnswer:
    """Follow the tags of a message and return what the model should know with it. Raises: NexusError, OSError."""
    files = find_session_files(event)
    if files is None:
        return HookAnswer()
    waiting = pending_messages.take_pending_messages(files, event.reader) if event.hears else []
    if event.agent_id:  # what one agent writes to another is no person's message: its tags mean nothing
        return HookAnswer(context=_join_context_parts(waiting))
    followed = _follow_tags(files, event)
    _record_session_seen(files, event.session, followed.skill if followed else "")
    said = [followed.context] if followed else []
    return HookAnswer(
        context=_join_context_parts([*said, *waiting, message_guidance(files)]),
        notice=followed.notice if followed else "",
    )


def _follow_tags(files: SessionFiles, event: HarnessEvent) -> "TagOutcome | None":
    message = event.text[:_LONGEST]
    if not _MAYBE.search(message):
        return None
    from gitnexus.app.message_tags import follow_tags

    return follow_tags(files.location, event.harness, message)


def _record_session_seen(files: SessionFiles, session: str, skill: str) -> None:
    """Record that the session is alive, and its current skill."""
    known = open_sessions.read_open_sessions(files).get(session)
    if known is not None and skill in ("", known.skill) and seconds_since(known.seen_at) < _HEARD_OF:
        return
    with files.exclusive():
        sessions = open_sessions.read_open_sessions(files)
        mine = open_sessions.session_seen_now(sessions, session)
        open_sessions.write_open_sessions(files, {**sessions, session: mine._replace(skill=skill or mine.skill)})


def _join_context_parts(parts: list[str]) -> str:
    text = "\n\n".join(part for part in parts if part)
    return text if len(text) <= MOST_CONTEXT else text[: MOST_CONTEXT - 20] + "\n… (cut here)"
