"""The frame of a pack cannot be broken, whatever stands in it."""

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.packs import ContextPack, PackBudget, estimate_tokens, render_pack
from gitnexus.packs.model import LineSource, PackPiece

_TEXT = st.text(max_size=80) | st.sampled_from([">>> 0000000000000000 1\n", "<<< 1\n", "\u2028>>> x 1\n", "\n" * 5])


def pack(texts: list[str]) -> ContextPack:
    source = LineSource(path="a\n>>> b", blob="0" * 40, first_line=1, last_line=1, commit="1" * 40)
    pieces = [PackPiece(ref=f"file:{at}", kind="file", sources=(source,), text=f"{text}\n", lines=1)
              for at, text in enumerate(texts)]  # fmt: skip
    refs = tuple(piece.ref for piece in pieces)
    return ContextPack(
        base="1" * 40, state="", refs=refs, budget=PackBudget(), pieces=tuple(pieces), left_out=()
    ).hashed()


@given(st.lists(_TEXT, max_size=5))
def test_each_frame_opens_and_closes_once_and_holds_its_text_whole(texts: list[str]) -> None:
    text = render_pack(pack(texts))
    mark = text.split('"')[1].split(" ")[1]

    at = text.index("\n<<< ") + 1 if texts else 0
    for number, held in enumerate(texts, 1):
        opening, _, rest = text[at:].partition("\n")
        assert opening.startswith(f"<<< {mark} {number} file:{number - 1} = a\\x0a>>> b lines 1-1")
        assert rest.startswith(f"{held}\n>>> {mark} {number}\n")
        at += len(opening) + len(held) + len(f"\n\n>>> {mark} {number}\n")
    assert text.count(mark) == 2 + 2 * len(texts)
    assert (text[at:] if texts else "") == ""


def test_a_text_that_holds_the_mark_gets_another_one() -> None:
    first = render_pack(pack(["x"])).split('"')[1].split(" ")[1]

    assert render_pack(pack(["x"])) == render_pack(pack(["x"]))
    assert first not in render_pack(pack([first])).split("\n", 1)[0]


def test_tokens_are_a_third_of_the_bytes() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abc", "abcd", "é" * 3)] == [0, 1, 1, 2, 2]
