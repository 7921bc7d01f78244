"""The router: what is said outright, what the words say, and how sure it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.workflow.commands import parse_custom_macro
from gitnexus.workflow.macros import DEFAULT
from gitnexus.workflow.proposal import WorkflowProposal
from gitnexus.workflow.routing import RoutingInputs, propose_workflow
from gitnexus.workflow.settings import WorkflowSettings
from tests.workflow.table import SEEN, UNSEEN, accuracy, rows, told
from tests.workflow.test_macros import RELEASE

KNOWN = RoutingInputs({"release": parse_custom_macro("release", RELEASE)}, WorkflowSettings())


def proposed(prompt: str) -> WorkflowProposal:
    return propose_workflow(prompt, KNOWN)


def test_the_table_is_large_enough_and_no_prompt_stands_twice() -> None:
    prompts = [row.prompt for row in [*rows(SEEN), *rows(UNSEEN)]]

    assert len(rows(SEEN)) + len(rows(UNSEEN)) >= 100
    assert len(set(prompts)) == len(prompts)


def test_the_rules_meet_what_people_expect() -> None:
    """No floor to be tuned to: the docs tell the exact figures, and a test compares."""
    seen, unseen = accuracy(SEEN), accuracy(UNSEEN)

    assert seen.right / seen.total >= 0.95
    assert unseen.right / unseen.total >= 0.85


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("what is the latest release", "research"),
        ("something with best practice in it", "research"),
        ("a comparison, so to speak: compare them", "research"),
        ("the plan", "plan"),
        ("an architecture", "plan"),
        ("milestone", "plan"),
        ("steps", "plan"),
        ("the refactor", "exec"),
        ("a diff", "exec"),
        ("tests", "exec"),
        ("implement it by the latest standard", "research-exec"),
        ("Verify the claim, plan the steps and implement them", DEFAULT),
        ("something else", DEFAULT),
        ("?", DEFAULT),
        ("Bitte", DEFAULT),
    ],
)
def test_the_keywords_decide_where_no_verb_does(prompt: str, expected: str) -> None:
    assert told(proposed(prompt)) == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Fix `plan the research`", "exec"),
        ("Fix the text:\n\n```\nplan and compare the latest\n```\n", "exec"),
        ("> plan the research\n\nFix this", "exec"),
        ("Fix the text “compare the latest”", "exec"),
        ("Fix plan.py and docs/research/compare.md", "exec"),
        ("Fix the_plan_of_steps", "exec"),
        ("Don’t fix it, only explain it", "research"),
        ("Fix it without a plan", "exec"),
    ],
)
def test_what_is_shown_or_ruled_out_asks_for_nothing(prompt: str, expected: str) -> None:
    assert told(proposed(prompt)) == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Fix the Claude adapter", "exec"),
        ("why does codex fail on start?", "research"),
        ("Update gemini to version 3", "exec"),
        ("Fix “have Codex plan it”", "exec"),
        ("@claude fix the build", "exec@claude"),
        ("Codex: fix the build", "exec@codex"),
        ("fix it with codex", "exec@codex"),
        ("plan it and do it with Claude Code.", "plan@claude > exec@claude"),
        ("Use claude", "exec@claude"),
        ("Fix the parser, then have Claude review it", "exec > review@claude"),
        ("Let codex plan it, let claude plan it, let codex implement it", "plan@codex > plan@claude > exec@codex"),
        ("Lass Codex die Tests reparieren", "exec@codex"),
        ("Gib es an Claude", "exec@claude"),
        ("Claude soll planen, Codex soll umsetzen", "plan@claude > exec@codex"),
    ],
)
def test_who_is_named_for_a_part_does_it_and_who_is_only_named_does_not(prompt: str, expected: str) -> None:
    assert told(proposed(prompt)) == expected


def test_two_parts_of_one_kind_have_two_ids() -> None:
    made = proposed("Let codex plan it, let claude plan it, let codex implement it").definition

    assert [one.id for one in made.nodes] == ["plan", "plan2", "exec"]


def test_a_workflow_can_be_named() -> None:
    ours, own = proposed("/plan fix the parser"), proposed("  /release 1.2")

    assert (told(ours), ours.definition.prompt, ours.source, ours.confidence) == (
        "plan",
        "fix the parser",
        "macro",
        100,
    )
    assert (own.definition.name, own.definition.prompt) == ("release", "Ship a release: 1.2.")
    with pytest.raises(NotFound, match="there is no workflow 'nope'"):
        proposed("/nope x")
    assert told(proposed("/usr/bin/x crashes, fix it")) == "exec"


@pytest.mark.parametrize("prompt", ["", " \n", "x" * 65_537])
def test_a_prompt_is_said_and_not_endless(prompt: str) -> None:
    with pytest.raises(Invalid):
        proposed(prompt)


def test_what_is_clear_is_sure_and_what_is_not_comes_with_two_or_three_others() -> None:
    clear, mixed, vague = proposed("Fix it"), proposed("Implement it by the latest standard"), proposed("Onboarding")

    assert clear.confidence > mixed.confidence > vague.confidence
    assert clear.alternatives == ()
    assert [one.name for one in mixed.alternatives] == ["exec", DEFAULT, "plan-exec"]
    assert len(vague.alternatives) == 3
    assert clear.why == "“fix” asks for a change"


@given(st.text(max_size=200).filter(str.strip))
def test_whatever_the_text_there_is_a_workflow_the_same_one_always(prompt: str) -> None:
    try:
        found = proposed(prompt)
    except (NotFound, Invalid) as exc:
        assert prompt.lstrip().startswith("/") or exc.message.endswith(
            ("text without a NUL", "text without an unpaired surrogate")
        )
        return

    assert found == proposed(prompt)
    assert 0 <= found.confidence <= 100
    assert found.definition.mode == "default"
    assert not found.is_ambiguous or 2 <= len(found.alternatives) <= 3
    assert found.definition.name not in [one.name for one in found.alternatives]


@given(
    st.lists(
        st.sampled_from(
            "fix plan compare the a latest and then have codex claude ask to send it not no , . ? with".split()
        ),
        min_size=1,
        max_size=14,
    )
)
def test_whatever_the_words_too(words: list[str]) -> None:
    found = proposed(" ".join(words))

    assert found == proposed(" ".join(words))
    assert not found.is_ambiguous or 2 <= len(found.alternatives) <= 3


def test_a_prompt_of_the_longest_length_takes_no_longer_than_reading_it() -> None:
    """Words that every pattern begins with: were one of them quadratic, this would not end."""
    for word in (
        "send ",
        "have ",
        "codex ",
        "/a/",
        "not ",
        "`",
        '"',
        "and ",
        "x.",
        "use claude ",
        "\n",
        " \n",
        "claude, ",
        "send    ",
    ):
        proposed((word * 65_536)[:65_000] + "x")
