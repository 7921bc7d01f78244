"""Research by rule: what is found, cited and left open; and the same bytes again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.packs import PackBudget, pack_references
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Blocked, ResearchBundle
from gitnexus.workflow.embedded import EmbeddedSpecialist, research_by_rule
from gitnexus.workflow.embedded.question import parse_question
from gitnexus.workflow.specialist import AnsweredQuestion
from tests.conftest import examples
from tests.workflow.scene import Seen, made, order, seen


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("NEXUS_HOME", str(home / "nexus"))
        place = made(Path(tmp_path_factory.mktemp("scene")))
        with seen(place) as found:
            yield found


def found(view: Seen, question: str, **given: object) -> ResearchBundle:
    bundle = research_by_rule(order("research", question, view, **given))  # type: ignore[arg-type]
    assert isinstance(bundle, ResearchBundle)
    return bundle


def cited(bundle: ResearchBundle) -> list[str]:
    return [ref for claim in bundle.claims for ref in claim.citations]


def test_every_shelf_of_the_project_is_searched_and_quoted(view: Seen) -> None:
    bundle = found(view, "How does the retry backoff grow?")

    kinds = {ref.partition(":")[0] for ref in cited(bundle)}
    assert {"file", "memory", "rule", "cycle", "task", "commit"} <= kinds
    assert "file:docs/retries.md#L5-L7" in cited(bundle)
    quoted = next(claim for claim in bundle.claims if claim.citations == ("memory:backoff-choice",))
    assert quoted.text == "the note backoff-choice: “We chose exponential backoff after the outage.”"
    assert "Searched 7 files of " in bundle.summary
    assert "1 closed cycle" in bundle.summary


def test_research_of_others_is_cited_and_what_rules_found_before_is_not(view: Seen) -> None:
    assert "file:.nexus/research/asked.md" in cited(found(view, "what about thundering herds?"))
    assert not any("own.md" in ref for ref in cited(found(view, "how does the retry backoff grow?")))


def test_what_defines_a_name_comes_before_what_uses_it(view: Seen) -> None:
    bundle = found(view, "where is `backoff(attempt)` defined?")

    assert bundle.claims[0].text == "src/client.py, line 10: “def backoff(attempt): — Return the seconds to wait.”"
    assert bundle.claims[0].confidence > 60


def test_a_file_that_is_named_is_looked_at_and_its_last_commit_told(view: Seen) -> None:
    bundle = found(view, "what does src/loop.py do?")

    assert bundle.claims[0].citations == ("file:src/loop.py#L1-L2",)
    assert bundle.claims[0].confidence == 90
    assert "client: double the backoff" in bundle.claims[-1].text


def test_what_is_nowhere_and_what_lies_outside_stays_open(view: Seen) -> None:
    bundle = found(view, "compare our backoff with the latest best practice for `zorkmid`")

    assert bundle.unresolved == (
        "Nothing that may be read here contains “zorkmid”. Where is it?",
        "“latest” asks about what lies outside of the repository, and nothing outside was looked at.",
    )


def test_nothing_found_is_said_and_not_made_up(view: Seen) -> None:
    bundle = found(view, "xyzzy plugh?")

    assert bundle.claims == ()
    assert bundle.unresolved == ("Nothing that may be read here contains what is asked for: xyzzy plugh?",)


def test_what_the_policy_denies_is_not_found(view: Seen) -> None:
    bundle = found(view, "what is backoff=secret in the env?")

    assert not any(".env" in ref for ref in cited(bundle))


def test_constraints_come_from_agenda_phase_rules_and_answers(view: Seen) -> None:
    bundle = found(view, "how is the backoff limited?", answers=(AnsweredQuestion("How long?", "a minute"),))

    assert bundle.constraints == (
        "no network at import (doc:AGENDA.md#GLOBAL_CONSTRAINTS)",
        "keep it under 500 lines (doc:docs/phases/core.md#CONSTRAINTS)",
        "Never set a backoff above a minute. (rule:requests)",
        "How long? Answered: a minute",
    )


def test_a_blockers_question_and_suggested_context_are_what_is_looked_into(view: Seen) -> None:
    blocked = Blocked(
        kind="needs_research", question="what waits?", suggested_ctx=("file:src/client.py", "file:gone.py")
    )
    bundle = found(view, "the goal", blocked=blocked)

    assert bundle.question == "what waits?"
    assert bundle.claims[0].citations == ("file:src/client.py",)
    assert any("gone.py" in one for one in bundle.unresolved)


@pytest.mark.parametrize(
    "question", ["How does the retry backoff grow?", "what does src/loop.py do?", "jitter T1 loop"]
)
def test_every_citation_can_be_put_into_a_pack(view: Seen, question: str) -> None:
    refs = cited(found(view, question))

    pack = pack_references(view.library, refs, PackBudget())

    assert pack.left_out == ()
    assert len(pack.pieces) == len(set(refs))


WORDS = st.sampled_from(
    [
        "backoff",
        "retry",
        "why",
        "`loop`",
        "src/client.py",
        "latest",
        "the",
        "T1",
        "ümlaut",
        "#",
        "```",
        "\n",
        "()",
        "🙂",
    ]
)


@given(st.lists(WORDS, max_size=8).map(" ".join))
@settings(max_examples=examples(10))
def test_any_question_gives_a_checked_answer_and_the_same_again(view: Seen, question: str) -> None:
    one, other = (EmbeddedSpecialist().work(order("research", question, view)).output for _ in range(2))

    assert one == other
    if isinstance(one, ResearchBundle):
        assert function_named("Research").answer(one.plain()) == one


def test_without_a_question_or_a_repository_it_is_blocked(view: Seen) -> None:
    assert isinstance(research_by_rule(order("research", " ", view)), Blocked)
    assert isinstance(research_by_rule(order("research", "why?")), Blocked)


@pytest.mark.parametrize(
    ("text", "literals", "paths", "words"),
    [
        ("Where is `run_git` called?", ("run_git",), (), ("call",)),
        ("explain how landing works", (), (), ("land",)),
        ("what does src/app.py do?", (), ("src/app.py",), ()),
        ("use os.path.join in tools.py", ("os.path.join",), ("tools.py",), ()),
        ("see https://example.com/a_b for more", (), (), ("see",)),
        ("why?", (), (), ("why",)),
    ],
)
def test_a_question_is_taken_apart(text: str, literals: tuple[str, ...], paths: tuple[str, ...], words: object) -> None:
    asked = parse_question(text)

    assert (asked.literals, asked.paths, asked.words) == (literals, paths, words)


@given(st.text(max_size=300))
def test_any_text_can_be_taken_apart(text: str) -> None:
    asked = parse_question(text)

    assert len(asked.words) == len(asked.said)
