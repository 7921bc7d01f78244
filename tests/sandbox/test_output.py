"""Output within bounds: nothing lost below them, the beginning and the end kept above."""

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.sandbox.output import OutputKeeper, OutputPasser
from gitnexus.sandbox.spec import KeptOutput


@given(pieces=st.lists(st.binary(max_size=50)), limit=st.integers(2, 200))
def test_any_pieces_give_the_beginning_and_the_end(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    keeper = OutputKeeper(limit)
    for piece in pieces:
        keeper.feed(piece)

    half = limit // 2
    cut = max(0, len(whole) - 2 * half)
    marker = f"\n[… {cut} bytes cut …]\n".encode()
    wanted = whole if not cut else whole[:half] + marker + whole[-half:]
    assert keeper.kept() == KeptOutput(data=wanted, total=len(whole), cut=cut)


def test_a_flood_is_not_held_in_memory() -> None:
    keeper = OutputKeeper(1000)
    for _ in range(2000):
        keeper.feed(b"x" * 65536)

    assert len(keeper._head) + len(keeper._tail) < 200_000
    assert keeper.kept().total == 2000 * 65536


@given(pieces=st.lists(st.binary(max_size=50)), limit=st.integers(1, 200))
def test_a_sink_gets_the_beginning_and_is_told_of_the_cut_once(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    got: list[bytes] = []
    passer = OutputPasser(limit, got.append)
    for piece in pieces:
        passer.feed(piece)

    marker = f"\n[… cut after {limit} bytes …]\n".encode() if len(whole) > limit else b""
    assert b"".join(got) == whole[:limit] + marker
    assert passer.kept() == KeptOutput(total=len(whole), cut=max(0, len(whole) - limit))
