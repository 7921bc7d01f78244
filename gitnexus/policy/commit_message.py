"""The message of an approved commit: what was done, and the trailers that prove it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.text import one_line, visible
from gitnexus.git.trailers import last_paragraph
from gitnexus.redaction.stored import redact_text

RUN, ACTION, AGENT, APPROVAL = "Nexus-Run", "Nexus-Action", "Nexus-Agent", "Nexus-Approval"
_LOOKS_LIKE_ONE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9-]*:", re.MULTILINE)
_LONGEST_BODY = 4000


class Trailers(NamedTuple):
    """What stands in a landed commit; a squash of several approved commits holds several approvals."""

    run: str
    actions: tuple[str, ...]
    agent: str
    approvals: tuple[str, ...]

    def lines(self) -> list[tuple[str, str]]:
        """Return them in the order in which they are written."""
        return [
            (RUN, self.run),
            *((ACTION, action) for action in self.actions),
            (AGENT, self.agent),
            *((APPROVAL, token) for token in self.approvals),
        ]


def message(summary: str, body: str, trailers: Trailers) -> str:
    """Return a message. An agent's words cannot begin a trailer, hide one, or be more than words."""
    # Hidden before anything is cut: half a secret looks like none.
    subject = one_line(redact_text(summary).strip(), 72) or "Changes of an agent"
    subject = _tamed(subject)
    said = _tamed(visible(redact_text(body).strip(), keep="\n\t")[:_LONGEST_BODY])
    last = "\n".join(f"{key}: {one_line(value, 20_000)}" for key, value in trailers.lines())
    return "\n\n".join(part for part in (subject, said, last) if part) + "\n"


def landing(title: str, messages: Sequence[str], trailers: Trailers) -> str:
    """Return the message of one commit that stands for several: their first lines are its body."""
    return message(title, "\n".join(f"- {first_line(text)}" for text in messages), trailers)


def first_line(text: str) -> str:
    """Return the first line of a message, safe to show."""
    return one_line(text.strip().partition("\n")[0], 72)


def read(text: str) -> Trailers | None:
    """Return the trailers of a message, None where it has no approval. They prove nothing by themselves."""
    rows = last_paragraph(text)

    def all_of(key: str) -> tuple[str, ...]:
        return tuple(value for name, value in rows if name == key)

    approvals = all_of(APPROVAL)
    if not approvals:
        return None
    return Trailers(_only(all_of(RUN)), all_of(ACTION), _only(all_of(AGENT)), approvals)


def _only(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


def _tamed(text: str) -> str:
    """Indent what could be taken for a trailer, a divider or a comment; git strips none of that again."""
    lines = []
    for line in text.split("\n"):
        risky = line.startswith(("#", "---")) or (_LOOKS_LIKE_ONE.match(line) and line.lower().startswith("nexus-"))
        lines.append(f"  {line}" if risky else line)
    return "\n".join(lines)
