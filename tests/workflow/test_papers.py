"""Plans and research on the state ref: documents of the doc graph, whatever a specialist quoted in them."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.docgraph.parse import ID, parse_doc
from gitnexus.prompts.model import Claim, Plan, PlanStep, ResearchBundle
from gitnexus.workflow.budget import parse_counted_plan
from gitnexus.workflow.papers import PaperOrigin, paper_files, paper_id
from tests.conftest import examples

ORIGIN = PaperOrigin(run="260101-1200-ab12", node="look", by="embedded", base="c" * 40, state="d" * 40, task="T1")
PLAN = Plan(
    goal="ship it",
    steps=(
        PlanStep(id="S1", title="write [it](x.md)", files=("src/a.py",), commands=(("make", "test"),), risk=1),
        PlanStep(id="S2", title="read it", accept=("it is read",), depends=("S1",), questions=("by whom?",)),
    ),
    questions=("when?",),
)


def test_a_plan_for_people_and_for_programs() -> None:
    files = paper_files(PLAN, ORIGIN)
    text = files["plans/plan.260101-1200-ab12.look.md"].decode()

    assert text == (
        "---\nID: plan.260101-1200-ab12.look\nLINKS:\n"
        '  - run: "260101-1200-ab12"\n  - task: "T1"\n'
        f'BY: "embedded"\nBASE: "{"c" * 40}"\nSTATE: "{"d" * 40}"\n---\n\n'
        "# Plan: ship it\n\nSTEPS:\n- S1: write \\[it\\](x.md)\n  - files: `src/a.py`\n  - run: `make test`\n"
        "  - risk: 1 of 3\n- S2: read it\n  - must hold: it is read\n  - open: by whom?\n  - after: S1\n\n"
        "OPEN_QUESTIONS:\n- when?\n"
    )
    value = json.loads(files["plans/plan.260101-1200-ab12.look.json"])
    assert {key: item for key, item in value.items() if key not in ("id", "origin")} == PLAN.plain()
    assert parse_counted_plan(value, "plan").id == "plan.260101-1200-ab12.look"


def test_research_comes_back_and_its_markdown_lists_what_was_found() -> None:
    claims = (Claim(text="a.py says: “x”", citations=("file:a.py#L1-L2",), confidence=70),)
    bundle = ResearchBundle(question="why?", summary="It is so. And so.", claims=claims, unresolved=("when?",))
    files = paper_files(bundle, ORIGIN)
    doc = parse_doc(files["research/research.260101-1200-ab12.look.md"], "x.md")

    value = json.loads(files["research/research.260101-1200-ab12.look.json"])
    assert {key: item for key, item in value.items() if key not in ("id", "origin")} == bundle.plain()
    assert (doc.id, doc.title, [one.name for one in doc.sections]) == (
        "research.260101-1200-ab12.look", "Research: why?", ["RESEARCH_WHY", "SUMMARY", "CLAIMS", "OPEN_QUESTIONS"],
    )  # fmt: skip
    assert [one.text for one in doc.items if one.section == "SUMMARY"] == ["It is so.", "And so."]
    assert list(paper_files(bundle, ORIGIN, "review")) == [
        f"research/review.260101-1200-ab12.look.{ending}" for ending in ("json", "md")
    ]


SIGNS = [*"a \n#-[]()`<>!\\", "1.", "GOAL:", "---", "{#x}", "http://x"]
NASTY = st.lists(st.sampled_from([*SIGNS, "\x1b", "ü", "[ ]", "&amp;", "|", "~~~", "==="]), max_size=12).map("".join)


@given(st.lists(NASTY, min_size=6, max_size=6))
@settings(max_examples=examples(50))
def test_nothing_that_is_quoted_becomes_a_link_a_heading_or_a_row(texts: list[str]) -> None:
    one, two, three, four, five, six = texts
    claim = Claim(text=three, citations=(four,), confidence=1)
    bundle = ResearchBundle(question=one, summary=two, claims=(claim,), constraints=(five,), unresolved=(six,))
    step = PlanStep(id="S1", title=two, files=(three,), commands=((four,),), accept=(five,))
    plan = Plan(goal=one, steps=(step,), questions=(six,))
    outputs: list[Any] = [bundle, plan]
    for output in outputs:
        for path, raw in paper_files(output, ORIGIN).items():
            if path.endswith(".md"):
                doc = parse_doc(raw, path)
                assert doc.sound and doc.findings == ()
                assert [(link.kind, link.target) for link in doc.links] == [("run", ORIGIN.run), ("task", "T1")]
                assert len([one for one in doc.sections if one.level == 1]) == 1
                assert {one.name for one in doc.sections if one.level > 1} <= {
                    "SUMMARY", "CLAIMS", "CONSTRAINTS", "OPEN_QUESTIONS", "STEPS",
                }  # fmt: skip
                assert all(item.id == "" and item.done is None for item in doc.items)


@given(st.text(max_size=60), st.text(max_size=60))
def test_every_id_is_one(run: str, node: str) -> None:
    assert ID.fullmatch(paper_id("research", PaperOrigin(run=run, node=node)))
