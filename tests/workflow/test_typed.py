"""Specialists that are typed model calls: what they are given, what comes back, and how often they are asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Failed
from gitnexus.prompts import Prompter
from gitnexus.prompts.model import Blocked, ExecResult, Plan, PlanChanges, ResearchBundle
from gitnexus.prompts.settings import ModelEndpoint, PromptSettings, Via
from gitnexus.workflow.definition import NodeBudget
from gitnexus.workflow.model_specialist import ModelSpecialist, inputs_for_function
from gitnexus.workflow.specialist import AnsweredQuestion, CallUsage, WorkOrder
from tests.prompts.stub import Stub, served
from tests.prompts.test_contract import GOOD
from tests.workflow.scene import Seen, made, order, seen


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("NEXUS_HOME", str(home / "nexus"))
        with seen(made(Path(tmp_path_factory.mktemp("scene")))) as found:
            yield found


def typed(stub: Stub, via: Via = "baml") -> ModelSpecialist:
    endpoint = ModelEndpoint(url=stub.url, model="m", seconds=20, usd_per_million_in=10, usd_per_million_out=50)
    return ModelSpecialist(Prompter(PromptSettings(via=via, retries=5, endpoint=endpoint), sleep=lambda _: None))


@pytest.mark.parametrize("via", ["baml", pytest.param("pydantic-ai", marks=pytest.mark.slow)])
def test_each_kind_of_node_gives_its_form_whoever_asks(via: Via) -> None:
    forms: dict[Any, tuple[str, type]] = {
        "research": ("Research", ResearchBundle), "plan": ("MakePlan", Plan), "plan_patch": ("PlanPatch", PlanChanges),
        "exec": ("ExecStep", ExecResult),
    }  # fmt: skip
    for type_, (name, form) in forms.items():
        with served(GOOD[name]) as stub:
            returned = typed(stub, via).work(order(type_, "do it"))

        assert isinstance(returned.output, form)
        assert returned.usage == CallUsage(input=100, output=20, cost=2000)


def test_an_answer_that_does_not_fit_is_sent_back_as_often_as_the_node_allows() -> None:
    asked = order("research", "why?")
    asked = WorkOrder(node=asked.node.changed(budget=NodeBudget(retries=1)), goal="why?", prompt="why?")
    with served({"question": "q"}, GOOD["Research"]) as stub:
        returned = typed(stub).work(asked)

    assert len(returned.wrong) == 1
    assert "Your last answer could not be used" in stub.prompts[1]
    with served({"question": "q"}) as stub, pytest.raises(Failed):
        typed(stub).work(asked)
    assert len(stub.asked) == 2


def test_what_the_engine_found_wrong_is_told_and_nobody_counts_twice() -> None:
    with served(GOOD["PlanPatch"]) as stub:
        typed(stub).work(order("plan_patch", "x", feedback="there is no step S9 to split"))

    assert "there is no step S9 to split" in stub.prompts[0]
    with served("text:no") as stub, pytest.raises(Failed):
        typed(stub).work(order("plan_patch", "x", feedback="wrong"))
    assert len(stub.asked) == 1


def test_a_node_names_its_own_model() -> None:
    one = order("research", "why?")
    with served(GOOD["Research"]) as stub:
        typed(stub).work(WorkOrder(node=one.node.changed(model="bigger"), goal="why?", prompt="why?"))

    assert stub.asked[0]["model"] == "bigger"


def test_where_nothing_is_named_a_model_reads_what_a_search_cites(view: Seen) -> None:
    given = inputs_for_function(order("research", "How does the retry backoff grow?", view))

    assert given["question"] == "How does the retry backoff grow?"
    assert "Context pack." in given["context"]
    assert "return min(60, 2 ** attempt)" in given["context"]
    assert inputs_for_function(order("research", "How?", view, pack="PACK"))["context"] == "PACK"


def test_a_plan_is_made_from_agenda_research_and_files(view: Seen) -> None:
    bundle = ResearchBundle(question="q", summary="FOUND")
    given = inputs_for_function(order("plan", "add jitter", view, inputs={"look": bundle}, task="T1"))

    assert "no network at import" in given["agenda"] and "keep it under 500 lines" in given["agenda"]
    assert "Add jitter to the backoff" in given["agenda"]
    assert "FOUND" in given["research"]
    assert given["repo"].startswith("Files:\nAGENDA.md\nMakefile\ndocs/phases/core.md\n")
    assert ".env" not in given["repo"]


def test_a_change_of_a_plan_is_told_what_blocks_and_what_was_answered() -> None:
    blocked = Blocked(kind="needs_research", question="which?")
    given = inputs_for_function(
        order("plan_patch", "go on", blocked=blocked, answers=(AnsweredQuestion("which?", "the left one"),))
    )

    assert "which? the left one" in given["new_constraints"]
    assert "needs_research" in given["blocker"]


def test_work_without_a_plan_is_a_plan_of_one_step() -> None:
    given = inputs_for_function(order("exec", "mend it"))

    assert given["step_id"] == "S1"
    assert '"title":"mend it"' in given["plan"]
