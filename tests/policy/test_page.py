"""The reference page tells every tag, refusal, list, program, slot and scope as the code has them."""

import re
from pathlib import Path

import pytest

from gitnexus.policy.builtin import ASKED, GUARDS, PROCESSES
from gitnexus.policy.builtin_refusals import REFUSALS
from gitnexus.policy.denied import DENIED
from gitnexus.policy.facts import TAGS
from gitnexus.policy.grants import SCOPES
from gitnexus.policy.patterns import SLOT_WORDS
from gitnexus.policy.programtable import GROUPS, PROGRAMS
from gitnexus.policy.rules import parse_policy

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "policy.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    tags = [(name, str(tag.risk), "yes" if tag.asks else "", tag.words) for name, tag in TAGS.items()]
    scopes = [(kind, ", ".join(f"`{scope}`" for scope in scopes)) for kind, scopes in SCOPES.items()]

    assert re.findall(r"^\| `(\w+)` \| (\d) \| (yes)? ?\| (.*) \|$", section("Tags"), re.MULTILINE) == tags
    assert re.findall(r"^\| `(builtin\.[\w-]+)` \| (.*) \|$", section("Refused"), re.MULTILINE) == list(
        REFUSALS.items()
    )
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", section("Scopes of an approval"), re.MULTILINE) == scopes
    for name, words in SLOT_WORDS.items():
        assert f"| `{{{name}}}` | {words} |" in section("Command patterns")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Refused", (*DENIED, *PROCESSES)),
        ("Tags", (*(pattern for patterns in ASKED.values() for pattern in patterns), *GUARDS)),
        ("Programs", tuple(PROGRAMS)),
    ],
)
def test_the_lists_of_the_page_are_those_of_the_code(title: str, words: tuple[str, ...]) -> None:
    told = set(re.findall(r"`([^`\n]+)`", section(title)))

    assert set(words) - told == set()


def test_every_group_of_programs_is_told_with_its_reason() -> None:
    for group, (why, _) in GROUPS.items():
        assert f"| {group} | {why} |" in section("Programs")


@pytest.mark.parametrize("page", ["reference/policy.md", "how-to/write-a-policy.md"])
def test_the_policies_on_the_pages_are_policies(page: str) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

    assert blocks
    for block in blocks:
        whole = block if block.startswith("---\n") else f"---\nversion: 1\n{block}---\n"
        parse_policy(whole.encode(), "user")
