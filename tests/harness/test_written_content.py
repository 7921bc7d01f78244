"""What a file holds after a call that writes it: the same for the gate and for a run."""

import pytest

from gitnexus.base.errors import Conflict, NexusError
from gitnexus.harness.calls import TextReplacement, WriteCall
from gitnexus.harness.written_content import content_after_write


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        (b"one\ntwo\n", [("one\ntwo", "1")], b"1\n"),
        (b"one\r\ntwo\r\n", [("one\ntwo", "1\n2")], b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", [("one\r\ntwo", "1\r\n2")], b"1\r\n2\r\n"),
        (b"a\xe4b\n", [("b", "c")], b"a\xe4c\n"),
        (None, [("", "new\n")], b"new\n"),
        (b"", [("", "new\n"), ("new", "newer")], b"newer\n"),
        (b"aa", [("a", "b", True)], b"bb"),
    ],
)
def test_edits_keep_the_line_ends_and_the_bytes_of_the_file(
    before: bytes | None, edits: list[tuple[str, str]], after: bytes
) -> None:
    call = WriteCall("x", edits=tuple(TextReplacement(*edit) for edit in edits))

    assert content_after_write(call, before) == after


@pytest.mark.parametrize(
    ("before", "old", "words"),
    [(b"aa", "a", "more than once"), (b"aa", "b", "nowhere"), (b"aa", "", "nowhere"), (None, "a", "nowhere")],
)
def test_an_edit_that_does_not_fit_is_a_conflict(before: bytes | None, old: str, words: str) -> None:
    with pytest.raises(Conflict, match=words):
        content_after_write(WriteCall("x", edits=(TextReplacement(old, "c"),)), before)


@pytest.mark.parametrize(
    "call", [WriteCall("x"), WriteCall("x", "\ud800"), WriteCall("x", edits=(TextReplacement("", "\udce4"),))]
)
def test_what_the_file_would_be_has_to_be_said_in_text(call: WriteCall) -> None:
    with pytest.raises(NexusError):
        content_after_write(call, b"")
