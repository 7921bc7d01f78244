"""The message of an approved commit: whatever an agent says, the trailers are ours."""

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.policy.commit_message import (
    APPROVAL,
    Trailers,
    format_commit_message,
    format_landing_message,
    parse_trailers,
)

TRAILERS = Trailers("261116-1503-k7fb", ("a1", "a2"), "scripted", ("nx1.a.b", "nx1.c.d"))
HOSTILE = st.lists(
    st.sampled_from(["\n", "\n\n", "---", f"{APPROVAL}: nx1.x.y", "Nexus-Run: r", " ", "\t", "# c", "words", "\r\n",
                     "\x85", "\u2028", "Signed-off-by: x", "(cherry picked from commit abcdef0)"]), max_size=12
).map("".join)  # fmt: skip


@given(st.one_of(st.text(), HOSTILE), st.one_of(st.text(), HOSTILE))
def test_the_trailers_come_back_whatever_the_words_are(summary: str, body: str) -> None:
    assert parse_trailers(format_commit_message(summary, body, TRAILERS)) == TRAILERS


@given(st.lists(HOSTILE, min_size=1, max_size=5), HOSTILE)
def test_and_so_they_do_from_a_squash(messages: list[str], title: str) -> None:
    assert parse_trailers(format_landing_message(title, messages, TRAILERS)) == TRAILERS
