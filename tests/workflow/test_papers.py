"""Plans and research on the state ref: documents of the doc graph, whatever a specialist quoted in them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.docgraph.parse import ID, parse
from gitnexus.prompts.model import Claim, Plan, PlanStep, ResearchBundle
from gitnexus.workflow.papers import Origin, id_of, plan_path, plan_text, research_path, research_text, with_origin

RUN = "260101-1200-ab12"
ORIGIN = Origin(run=RUN, by="embedded", task="T1")
PLAN = Plan(
    goal="ship it",
    steps=(
        PlanStep(id="S1", title="write [it](x.md)", files=("src/a.py",), commands=(("make", "test"),), risk=1),
        PlanStep(id="S2", title="read it", accept=("it is read",), depends=("S1",), questions=("by whom?",)),
    ),
    questions=("when?",),
)


def test_a_plan_for_people() -> None:
    assert with_origin(plan_text(PLAN), plan_path(RUN), ORIGIN) == (
        f"---\nID: plan-{RUN}\nLINKS:\n"
        f'  - run: "{RUN}"\n  - task: "T1"\nBY: "embedded"\n---\n\n'
        "# Plan: ship it\n\nSTEPS:\n- S1: write \\[it\\](x.md)\n  - files: `src/a.py`\n  - run: `make test`\n"
        "  - risk: 1 of 3\n- S2: read it\n  - must hold: it is read\n  - open: by whom?\n  - after: S1\n\n"
        "OPEN_QUESTIONS:\n- when?\n"
    )


def test_research_for_people_lists_what_was_found() -> None:
    claims = (Claim(text="a.py says: “x”", citations=("file:a.py#L1-L2",), confidence=70),)
    bundle = ResearchBundle(question="why?", summary="It is so. And so.", claims=claims, unresolved=("when?",))
    path = research_path(RUN, "look", "review")
    doc = parse(with_origin(research_text(bundle, "review"), path, ORIGIN).encode(), path)

    assert path == f"research/review-{RUN}-look.json"
    assert (doc.id, doc.title) == (f"review-{RUN}-look", "Review: why?")
    assert [one.name for one in doc.sections] == ["REVIEW_WHY", "SUMMARY", "CLAIMS", "OPEN_QUESTIONS"]
    assert [one.text for one in doc.items if one.section == "SUMMARY"] == ["It is so.", "And so."]
    assert ID.fullmatch(id_of(path)) and ID.fullmatch(id_of(plan_path(RUN)))


SIGNS = [*"a \n#-[]()`<>!\\", "1.", "GOAL:", "---", "{#x}", "http://x"]
NASTY = st.lists(st.sampled_from([*SIGNS, "\x1b", "ü", "[ ]", "&amp;", "|", "~~~", "==="]), max_size=12).map("".join)
SECTIONS = {"SUMMARY", "CLAIMS", "CONSTRAINTS", "OPEN_QUESTIONS", "STEPS"}


@given(st.lists(NASTY, min_size=6, max_size=6))
@settings(max_examples=120)
def test_nothing_that_is_quoted_becomes_a_link_a_heading_or_a_row(texts: list[str]) -> None:
    one, two, three, four, five, six = texts
    claim = Claim(text=three, citations=(four,), confidence=1)
    bundle = ResearchBundle(question=one, summary=two, claims=(claim,), constraints=(five,), unresolved=(six,))
    step = PlanStep(id="S1", title=two, files=(three,), commands=((four,),), accept=(five,))
    for text in (research_text(bundle), plan_text(Plan(goal=one, steps=(step,), questions=(six,)))):
        doc = parse(with_origin(text, plan_path(RUN), ORIGIN).encode(), "x.md")

        assert doc.sound and doc.findings == ()
        assert [(link.kind, link.target) for link in doc.links] == [("run", RUN), ("task", "T1")]
        assert len([part for part in doc.sections if part.level == 1]) == 1
        assert {part.name for part in doc.sections if part.level > 1} <= SECTIONS
        assert all(item.id == "" and item.done is None for item in doc.items)
