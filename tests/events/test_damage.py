"""Whatever is done to the bytes of a log is detected, or recovered and marked; never taken for what happened."""

import tempfile
from functools import cache
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import VerificationFailed
from gitnexus.events import Anchor, RunLog, verify_log
from gitnexus.events.chain import walk_chain
from tests.conftest import examples
from tests.events.scene import RUN, STORY, begun


@cache
def story() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        return begun(Path(place), len(STORY)).raw()


def ends() -> list[int]:
    return [link.end for link in walk_chain(story(), RUN)]


class Damaged:
    """Bytes in the place of a log."""

    run = RUN

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def raw(self) -> bytes:
        return self._raw


def anchor() -> Anchor:
    *_, last = walk_chain(story(), RUN)
    return Anchor(last.event.seq, last.digest, "the head file")


def is_detected(raw: bytes) -> bool:
    try:
        verify_log(Damaged(raw), [anchor()])
    except VerificationFailed:
        return True
    return False


@settings(deadline=None)
@given(st.integers(0, len(story()) - 1))
def test_a_log_cut_at_any_byte_is_found_out_by_its_anchor(at: int) -> None:
    assert is_detected(story()[:at])


@settings(deadline=None)
@given(st.integers(0, len(story()) - 1), st.integers(1, 255))
def test_any_changed_byte_is_found_out_by_the_anchor(at: int, change: int) -> None:
    raw = bytearray(story())
    raw[at] ^= change

    assert is_detected(bytes(raw))


@settings(deadline=None)
@given(st.integers(0, len(story()) - 1), st.integers(1, 255))
def test_without_an_anchor_a_changed_byte_reaches_the_last_line_at_most(at: int, change: int) -> None:
    raw = bytearray(story())
    raw[at] ^= change
    untouched = [link.event for link in walk_chain(story(), RUN)]

    try:
        found = [link.event for link in walk_chain(bytes(raw), RUN)]
    except VerificationFailed:
        return

    # The newline before the last line belongs to it: without it the last two are one, and that is no event.
    assert at >= ends()[-2] - 1
    assert found[: len(STORY) - 2] == untouched[: len(STORY) - 2]


@settings(deadline=None)
@given(st.permutations(range(len(STORY))), st.integers(0, len(STORY)))
def test_lines_in_another_order_or_left_out_are_found_out(order: list[int], count: int) -> None:
    lines = story().splitlines(keepends=True)
    chosen = order[:count]

    if chosen != list(range(len(STORY))):
        assert is_detected(b"".join(lines[at] for at in chosen))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, len(story())))
def test_a_log_cut_anywhere_by_a_crash_goes_on_and_keeps_what_was_whole_and_what_was_not(at: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, RUN)
        folder.mkdir()
        (folder / "events.jsonl").write_bytes(story()[:at])
        whole = [end for end in ends() if end <= at]
        torn = story()[whole[-1] if whole else 0 : at]
        log = RunLog(folder)

        log.append(*(STORY[1] if whole else STORY[0]))

        kinds = [event.kind for event in log.read()]
        mark = ["log.recovered"] if torn else []
        after = [*mark, STORY[1].kind] if whole else [STORY[0].kind, *mark]
        assert kinds == [draft.kind for draft in STORY[: len(whole)]] + after
        assert [path.read_bytes() for path in folder.glob("events.torn-*")] == ([torn] if torn else [])
