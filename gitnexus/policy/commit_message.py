"""Formats and parses the message of an approved commit: the summary, and the trailers that prove the approval."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.base.text import make_visible, one_line
from gitnexus.git.trailers import trailers_of_message
from gitnexus.redaction.stored import redact_text

RUN, ACTION, AGENT, APPROVAL = "Nexus-Run", "Nexus-Action", "Nexus-Agent", "Nexus-Approval"
_LOOKS_LIKE_ONE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9-]*:", re.MULTILINE)
_LONGEST_BODY = 4000


class Trailers(NamedTuple):
    """The trailers of a landed commit; a squash of several approved commits has several approvals."""

    run: str
    actions: tuple[str, ...]
    agent: str
    approvals: tuple[str, ...]

    def lines(self) -> list[tuple[str, str]]:
        """Return the trailers in the order in which they are written."""
        return [
            (RUN, self.run),
            *((ACTION, action) for action in self.actions),
            (AGENT, self.agent),
            *((APPROVAL, token) for token in self.approvals),
        ]


def format_commit_message(summary: str, body: str, trailers: Trailers) -> str:
    """Return a commit message. An agent's text cannot start, hide or fake a trailer."""
    # Mask before truncating: half a secret is not recognized.
    subject = one_line(redact_text(summary).strip(), 72) or "Changes of an agent"
    subject = _indent_trailers(subject)
    said = _indent_trailers(make_visible(redact_text(body).strip(), keep="\n\t")[:_LONGEST_BODY])
    last = "\n".join(f"{key}: {one_line(value, 20_000)}" for key, value in trailers.lines())
    return "\n\n".join(part for part in (subject, said, last) if part) + "\n"


def format_landing_message(title: str, messages: Sequence[str], trailers: Trailers) -> str:
    """Return the message of a commit that combines several: their first lines are its body."""
    return format_commit_message(title, "\n".join(f"- {first_line(text)}" for text in messages), trailers)


def first_line(text: str) -> str:
    """Return the first line of a message, safe to show."""
    return one_line(text.strip().partition("\n")[0], 72)


def parse_trailers(text: str) -> Trailers | None:
    """Return the trailers of a message, None without an approval. They prove nothing by themselves."""
    rows = trailers_of_message(text)

    def all_of(key: str) -> tuple[str, ...]:
        return tuple(value for name, value in rows if name == key)

    approvals = all_of(APPROVAL)
    if not approvals:
        return None
    return Trailers(_single_value(all_of(RUN)), all_of(ACTION), _single_value(all_of(AGENT)), approvals)


def _single_value(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


def _indent_trailers(text: str) -> str:
    """Indent lines that could be taken for a trailer, a divider or a comment; git keeps the indentation."""
    lines = []
    for line in text.split("\n"):
        risky = line.startswith(("#", "---")) or (_LOOKS_LIKE_ONE.match(line) and line.lower().startswith("nexus-"))
        lines.append(f"  {line}" if risky else line)
    return "\n".join(lines)
