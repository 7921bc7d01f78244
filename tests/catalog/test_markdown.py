"""What counts as code or quotation in a message is what a Markdown library takes for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gitnexus.catalog.markdown import code_and_quotation_ranges, is_in_ranges
from gitnexus.catalog.model import Tag
from gitnexus.catalog.tags import find_tags

TAG = "[d] do"
LINES = (TAG, "text", "", "```", "~~~", "```py", "  ```", "    code", "   x", "- item", "  - below", "1. one", "# head",
         "---", "* * *", "\ttab", "  text", "    - deep", "- - two", "> quoted", "- ```")  # fmt: skip
READER = MarkdownIt("commonmark")


def lines_of_code(text: str) -> set[int]:
    """Return the lines that the library takes for code or a quotation."""
    kinds = ("fence", "code_block", "blockquote_open")
    return {line for token in READER.parse(text) if token.type in kinds and token.map for line in range(*token.map)}


def tags_that_count(text: str) -> list[int]:
    hidden, at, found = code_and_quotation_ranges(text), 0, []
    for number, line in enumerate(text.split("\n")):
        if line == TAG and not is_in_ranges(hidden, at):
            found.append(number)
        at += len(line) + 1
    return found


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))
def test_a_tag_counts_where_the_library_sees_neither_code_nor_a_quotation(lines: list[str]) -> None:
    text, code = "\n".join(lines), lines_of_code("\n".join(lines))

    counted = [number for number, line in enumerate(lines) if line == TAG and number not in code]

    # A line right below a quotation is a part of it to the library; who typed a tag there means it.
    below = {number for number in range(1, len(lines)) if lines[number] == TAG and "> quoted" in lines[:number]}
    assert set(tags_that_count(text)) - below == set(counted) - below


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("- item\n  ```\n[d] do", 1),  # the block ends with its item
        ("- item\n  ```\n```\n[d] do", 0),  # and the second mark begins another
        ("- item\n  ```\n  [d] do\n  ```", 0),
        ("> quoted\n[d] do", 1),
    ],
)
def test_a_block_of_code_ends_with_the_item_that_it_is_in(message: str, count: int) -> None:
    tag = Tag(id="d", trigger="[d]", type="skill", description="x", skill="d")

    assert len(find_tags(message, [tag])) == count
