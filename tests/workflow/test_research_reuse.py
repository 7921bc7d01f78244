"""Research that was kept: what of it still holds when its sources changed."""

import pytest

from gitnexus.prompts.model import Claim, ResearchBundle
from gitnexus.workflow.research_reuse import (
    KeptResearch,
    ResearchSources,
    ReusePlan,
    is_same_question,
    merged_research,
    plan_reuse,
    question_about_changes,
)

A = Claim(text="a holds", citations=("file:a",), confidence=90)
B = Claim(text="b and a hold", citations=("file:b", "file:a"), confidence=80)
C = Claim(text="somebody says so", citations=("hearsay",), confidence=50)
KEPT = KeptResearch(
    "research.r.n",
    ResearchBundle(question="?", summary="Before.", claims=(A, B, C), constraints=("keep it",), unresolved=("why?",)),
    ResearchSources(question="What is so?", asked="model m", given="sha256:0", base="0" * 40,
                    digests={"file:a": "1", "file:b": "1"}, cited=(("file:a",), ("file:b", "file:a"), ())),
)  # fmt: skip


@pytest.mark.parametrize(
    ("now", "kept", "changed"),
    [
        ({"file:a": "1", "file:b": "1"}, (A, B, C), ()),
        ({"file:a": "1", "file:b": "2"}, (A,), ("file:b",)),
        ({"file:a": "2", "file:b": "1"}, (), ("file:a",)),
        # A source that is gone, and one that is new.
        ({"file:a": "1"}, (A,), ("file:b",)),
        ({"file:a": "1", "file:b": "1", "file:c": "1"}, (A, B), ("file:c",)),
    ],
)
def test_a_claim_holds_if_all_that_it_cites_is_unchanged(
    now: dict[str, str], kept: tuple[Claim, ...], changed: tuple[str, ...]
) -> None:
    assert plan_reuse(KEPT, now) == ReusePlan(kept, changed)


@pytest.mark.parametrize(
    ("question", "asked", "given", "same"),
    [
        ("What  is so?\n", "model m", "sha256:0", True),
        ("what is so?", "model m", "sha256:0", True),
        ("What is it?", "model m", "sha256:0", False),
        ("What is so?", "model larger", "sha256:0", False),
        ("What is so?", "model m", "sha256:1", False),
    ],
)
def test_the_same_question_to_the_same_researcher(question: str, asked: str, given: str, same: bool) -> None:
    assert is_same_question(KEPT, question, asked, given) is same


def test_the_new_question_names_what_changed_and_what_holds_and_the_answer_has_both() -> None:
    plan = plan_reuse(KEPT, {"file:a": "1", "file:b": "2"})
    new = ResearchBundle(question="long", summary="Now.", claims=(Claim(text="b", citations=("x",), confidence=1),))

    asked = question_about_changes("What is so?", plan)
    found = merged_research(KEPT, plan, new, "What is so?")

    assert asked.startswith("What is so?\n") and "- file:b\n" in asked and "- a holds\n" in asked
    assert "b and a hold" not in asked
    assert (found.question, [claim.text for claim in found.claims]) == ("What is so?", ["a holds", "b"])
    assert found.summary == "Now.\nFrom earlier research, whose sources did not change: Before."
    assert (found.constraints, found.unresolved) == (("keep it",), ("why?",))
