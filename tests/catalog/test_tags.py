"""A tag is typed at the start of a line. Shown as code, quoted, or in the middle of something it is only text."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.tags import TagUse, find_tags

TAGS = builtin_catalog().tags
TRIGGERS = ("[plan]", "[plan:auto]", "[run]", "[sync]", "[d]", "[m]", "[m:gc]", "[rule]", "[rule:testing]")


def found(message: str) -> list[tuple[str, str | None, str]]:
    return [(use.id, use.variant, use.text) for use in find_tags(message, TAGS)]


@pytest.mark.parametrize(
    ("message", "uses"),
    [
        ("[plan] the storage", [("plan", None, "the storage")]),
        ("[plan:auto] the storage", [("plan", "auto", "the storage")]),
        ("[run]", [("run", None, "")]),
        ("[sync]\n", [("sync", None, "")]),
        ("[d] SQLite, since it is one file", [("d", None, "SQLite, since it is one file")]),
        ("[m] the API allows 5 calls a second", [("m", None, "the API allows 5 calls a second")]),
        ("[m:gc]", [("m-gc", None, "")]),
        ("[rule] never push to main", [("rule", None, "never push to main")]),
        ("[rule:testing] no sleeps", [("rule", "testing", "no sleeps")]),
        ("[rule:Größe] klein", [("rule", "Größe", "klein")]),
        ("   [d] three blanks", [("d", None, "three blanks")]),
        ("hello\n[d] yes", [("d", None, "yes")]),
        ("hello\r\n[d] yes\r\nand more\r\n", [("d", None, "yes\nand more")]),
        ("hello\r[d] yes", [("d", None, "yes")]),
        ("[d] one\n[m] two\nthree\n\n[run]", [("d", None, "one"), ("m", None, "two\nthree"), ("run", None, "")]),
        ("[d] first [m] not a second", [("d", None, "first [m] not a second")]),
        ("[plan]계획하자", [("plan", None, "계획하자")]),
        ('[d] he said "use it"', [("d", None, 'he said "use it"')]),
        ('a 5" screen\n[d] the 6" one', [("d", None, 'the 6" one')]),
        ("don`t\n\n[d] use `x`", [("d", None, "use `x`")]),
        ("# the `heading\n[d] use `x`", [("d", None, "use `x`")]),
        ("a \\` b\n[d] c ` d", [("d", None, "c ` d")]),
        ("```\ncode\n```\n[d] after the fence", [("d", None, "after the fence")]),
        ("> their words\n[d] my answer", [("d", None, "my answer")]),
        ("``` `not a fence`\n[d] x", [("d", None, "x")]),
        ("- a list\n[d] x", [("d", None, "x")]),
        ('she began "and never ended\n[d] x', [("d", None, "x")]),
    ],
)  # fmt: skip
def test_what_is_typed_at_the_start_of_a_line_counts(message: str, uses: list[tuple[str, str | None, str]]) -> None:
    assert found(message) == uses


@pytest.mark.parametrize(
    "message",
    [
        "",
        "plan the storage",
        "arr[d]",
        "x = arr[d] + 1",
        "What next?\n[d]elete  [k]eep",
        "[run]ning 3 tests",
        "arr\n[d][0]",
        "[d](https://example.com)",
        "[d]: https://example.com",
        "[d]=5",
        "[d].pop()",
        "[plan:foo] x",
        "[plan:] x",
        "[plan:AUTO] x",
        "[run:auto] x",
        "[m:x] y",
        "[rule:a b] c",
        "[rule:../x] c",
        "[rule:*] c",
        "[Plan] x",
        "[ plan ] x",
        "[unknown] x",
        "then [plan] it",
        "- [d] in a list",
        "* [ ] [d]",
        "> [d] quoted",
        "  > [d] quoted",
        "> ```\n> [d] x\n> ```",
        '"[d] x"',
        'he wrote "\n[d] x\n" yesterday',
        'he wrote "first\n\n[d] x\n\nlast"',
        "“see\n[d] x”",
        "„so\n[d] x“",
        "«\n[d] x\n»",
        "‘\n[d] x’",
        '"""\n[d] x\n"""',
        "`[d]` starts a decision",
        "`\n[d] x\n`",
        "``a ` b\n[d] x``",
        "    [d] indented code",
        "\t[d] indented code",
        "  \t[d] indented code",
        "```\n[d] x\n```",
        "```python\n[d] x\n```",
        "~~~\n[d] x\n~~~",
        "~~~ `a`\n[d] x\n~~~",
        "````\n```\n[d] x\n```\n````",
        "```\n~~~\n[d] x\n```",
        "```\nnever closed\n[d] x",
        "   ```\n[d] x\n   ```",
        "```\ncode\n    ```\n[d] still code\n```",
        "- ```\n  [d] x\n  ```",
        "1. ~~~\n   [d] x\n   ~~~",
        "```\r\n[d] x\r\n```\r\n",
        "word\u2028[d] x",
    ],
)
def test_code_quotes_indexes_and_the_middle_of_a_line_do_not(message: str) -> None:
    assert found(message) == []


def test_a_tag_is_only_what_the_vocabulary_says() -> None:
    assert find_tags("[plan] x\n[d] y", [tag for tag in TAGS if tag.id == "d"]) == [TagUse("d", None, "y")]
    assert find_tags("[plan] x", []) == []


_TEXT = st.text(max_size=60)
_LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=40)
_PIECES = st.lists(
    st.sampled_from(
        [*TRIGGERS, "`", "``", "```", "~~~", '"', "“", "”", ">", "- ", "    ", "\t", " ", "\n", "\n\n", "x"]
    )
    | _LINE,
    max_size=30,
).map("".join)


@given(trigger=st.sampled_from(TRIGGERS), text=_TEXT)
def test_at_the_start_of_the_message_a_tag_always_counts(trigger: str, text: str) -> None:
    uses = find_tags(f"{trigger} {text}", TAGS)

    assert f"[{uses[0].id.replace('-', ':')}{':' + uses[0].variant if uses[0].variant else ''}]" == trigger
    assert text.replace("\r\n", "\n").replace("\r", "\n").strip().startswith(uses[0].text)


@given(_PIECES)
def test_what_is_found_stands_at_the_start_of_a_line_in_its_order(message: str) -> None:
    lines = re.split(r"\r\n|\r|\n", message)
    starts = [line for line in lines if re.match(r" {0,3}\[[a-z]", line)]

    uses = find_tags(message, TAGS)

    assert len(uses) <= len(starts)
    place = 0
    for use in uses:
        place = next(at for at in range(place, len(starts)) if starts[at].lstrip().startswith(f"[{use.id[:1]}")) + 1


@given(_PIECES)
def test_in_a_fence_longer_than_any_inside_nothing_counts(message: str) -> None:
    longest = max([2, *(len(run) for run in re.findall("`+", message))])

    assert find_tags(f"{'`' * (longest + 1)}\n{message}\n{'`' * (longest + 1)}", TAGS) == []
    assert find_tags(f"{'`' * (longest + 1)}\n{message}", TAGS) == []


@pytest.mark.parametrize("before", ["> ", ">", "    ", "\t", "arr", "- ", "x = "])
@given(message=_PIECES)
def test_behind_a_quote_mark_an_indent_or_a_word_nothing_counts(before: str, message: str) -> None:
    moved = "\n".join(before + line for line in re.split(r"\r\n|\r|\n", message))

    assert find_tags(moved, TAGS) == []


_PROSE = st.lists(
    st.sampled_from([f"{trigger} word" for trigger in TRIGGERS]) | st.text("ab ,.", max_size=20).map("a".__add__),
    min_size=1,
    max_size=8,
).map("\n".join)


@pytest.mark.parametrize("marks", ["``", '""', "“”", "„“", "«»", "‘’"], ids=lambda marks: marks[0])
@given(prose=_PROSE)
def test_between_backticks_or_quotation_marks_over_several_lines_nothing_counts(marks: str, prose: str) -> None:
    assert find_tags(f"see {marks[0]}{prose}{marks[1]}", TAGS) == []
    assert find_tags(f"see {marks[0]}\n{prose}{marks[1]} there", TAGS) == []


@given(_PIECES)
def test_line_ends_of_other_systems_make_no_difference(message: str) -> None:
    plain = message.replace("\r", "")

    assert find_tags(plain.replace("\n", "\r\n"), TAGS) == find_tags(plain, TAGS)


@given(_PIECES)
def test_a_message_without_brackets_has_no_tags(message: str) -> None:
    assert find_tags(message.replace("[", "("), TAGS) == []


@pytest.mark.parametrize(
    "piece", ["[d] x\n", "`", "``\n`", '"a\n', "“", "```\n", "> x\n", "\\`", "[d", "- - - ", " \t"]
)
def test_a_long_message_is_read_in_no_time(piece: str) -> None:
    message = piece * (50_000 // len(piece))
    start = time.process_time()

    find_tags(f"{message}\n[d] x", TAGS)

    assert time.process_time() - start < 2
