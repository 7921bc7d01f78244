"""A person wrote a message: its tags are followed, and where the session stands is said beside it."""

import re
from typing import TYPE_CHECKING

from gitnexus.harness import mail
from gitnexus.harness import sessions as open_sessions
from gitnexus.harness.guidance import guidance
from gitnexus.harness.model import MOST_CONTEXT, Answer, Happening
from gitnexus.harness.moment import seconds_since
from gitnexus.harness.shelf import Shelf, shelf_of

if TYPE_CHECKING:
    from gitnexus.app.harnesstags import Followed

# What may be a tag at all: only then is the catalog opened.
_MAYBE = re.compile(r"^ {0,3}\[[a-z]", re.MULTILINE)
_LONGEST = 200_000
_HEARD_OF = 600


def spoken_to(told: Happening) -> Answer:
    """Follow the tags of a message and return what the model should know with it. Raises: NexusError, OSError."""
    shelf = shelf_of(told)
    if shelf is None:
        return Answer()
    waiting = mail.take(shelf, told.reader) if told.hears else []
    if told.agent_id:  # what one agent writes to another is no person's message: its tags mean nothing
        return Answer(context=_joined(waiting))
    followed = _followed(shelf, told)
    _seen(shelf, told.session, followed.skill if followed else "")
    said = [followed.context] if followed else []
    return Answer(context=_joined([*said, *waiting, guidance(shelf)]), notice=followed.notice if followed else "")


def _followed(shelf: Shelf, told: Happening) -> "Followed | None":
    message = told.text[:_LONGEST]
    if not _MAYBE.search(message):
        return None
    from gitnexus.app.harnesstags import follow

    return follow(shelf.place, told.harness, message)


def _seen(shelf: Shelf, session: str, skill: str) -> None:
    """Note that the session lives, and the skill that it is in from now on."""
    known = open_sessions.sessions_in(shelf).get(session)
    if known is not None and skill in ("", known.skill) and seconds_since(known.seen_at) < _HEARD_OF:
        return
    with shelf.exclusive():
        sessions = open_sessions.sessions_in(shelf)
        mine = open_sessions.seen(sessions, session)
        open_sessions.put(shelf, {**sessions, session: mine._replace(skill=skill or mine.skill)})


def _joined(parts: list[str]) -> str:
    text = "\n\n".join(part for part in parts if part)
    return text if len(text) <= MOST_CONTEXT else text[: MOST_CONTEXT - 20] + "\n… (cut here)"
