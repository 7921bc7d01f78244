"""Which of several agents does a node: hints, results, who is down, and the order of the list."""

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.events.measure import WorkerTally
from gitnexus.workflow.choosing import AgentCandidate, is_down_message, rank_agents
from gitnexus.workflow.definition import NodeType
from gitnexus.workflow.settings import parse_workflow_settings

BOTH = (AgentCandidate(agent="claude"), AgentCandidate(agent="codex"))
THREE = (*BOTH, AgentCandidate(agent="gemini"))


def results(passed: int, of: int, **more: int) -> WorkerTally:
    return WorkerTally(passed=passed, broken=of - passed, **more)


@pytest.mark.parametrize(
    ("candidates", "tallies", "kind", "order", "why"),
    [
        (BOTH, {"codex": results(14, 17), "claude": results(9, 15)}, "exec", ["codex", "claude"],
         "codex: 14 of 17 patches passed their tests; claude 9 of 15"),
        (BOTH, {}, "exec", ["claude", "codex"], "too little to go by, so in the order of the list"),
        (BOTH, {"codex": results(3, 3), "claude": results(0, 2)}, "exec", ["claude", "codex"],
         "too little to go by (codex: 3 of 3 patches passed their tests; claude 0 of 2), so in the order of the list"),
        # No tests are recorded: what applied tells more than the order of the list.
        (BOTH, {"codex": WorkerTally(applied=9, unfit=1), "claude": WorkerTally(applied=5, unfit=5)}, "exec",
         ["codex", "claude"], "codex: 9 of 10 patches applied; claude 5 of 10"),
        # Who answers is compared by the form of the answers, whatever became of patches.
        (BOTH, {"codex": results(9, 9, valid=4, invalid=4), "claude": results(0, 9, valid=8)}, "research",
         ["claude", "codex"], "claude: 8 of 8 answers kept their form; codex 4 of 8"),
        # Equal shares: fewer retries, then less money.
        (BOTH, {"codex": results(5, 5, steps=5), "claude": results(5, 5, steps=5, retries=2)}, "exec",
         ["codex", "claude"], "claude: 5 of 5 patches passed their tests; codex 5 of 5"),
        # Nothing is known of the first: it keeps its place, the known ones change theirs.
        (THREE, {"codex": results(1, 5), "gemini": results(5, 5)}, "exec", ["claude", "gemini", "codex"],
         "gemini: 5 of 5 patches passed their tests; codex 1 of 5"),
        # Hints come before results.
        ((AgentCandidate(agent="claude"), AgentCandidate(agent="codex", good_at=("exec",))),
         {"codex": results(0, 9), "claude": results(9, 9)}, "exec", ["codex", "claude"], "codex is set for such work"),
        ((AgentCandidate(agent="claude", good_at=("review",)), AgentCandidate(agent="codex", good_at=("parser",))),
         {}, "exec", ["codex", "claude"], "codex is set for such work"),
        ((AgentCandidate(agent="claude", good_at=("pars",)), AgentCandidate(agent="codex")), {}, "exec",
         ["codex", "claude"], ""),
    ],
)  # fmt: skip
def test_the_order_of_agents_and_its_reason(
    candidates: tuple[AgentCandidate, ...], tallies: dict[str, WorkerTally], kind: NodeType, order: list[str], why: str
) -> None:
    found = rank_agents(candidates, tallies, kind, "Mend the parser", lambda agent: "")

    assert found == (tuple(order), why)


def test_who_is_down_comes_last_however_good() -> None:
    tallies = {"claude": results(9, 9), "codex": results(1, 9)}

    found = rank_agents(BOTH, tallies, "exec", "x", {"claude": "claude is not on PATH", "codex": ""}.__getitem__)

    assert found == (("codex", "claude"), "claude is down: claude is not on PATH")


def test_if_all_are_down_the_results_decide_who_says_so() -> None:
    found = rank_agents(BOTH, {"claude": results(1, 9), "codex": results(9, 9)}, "exec", "x", lambda agent: "gone")

    assert found[0] == ("codex", "claude")


@pytest.mark.parametrize(
    ("message", "down"),
    [
        ("claude failed: Invalid API key · Please run /login", True),
        ("claude failed: API Error: 401 Unauthorized", True),
        ("codex failed: unexpected status 503 Service Unavailable", True),
        ("gemini failed: You exceeded your current quota", True),
        ("the agent codex needs the program codex, which is not installed", True),
        ("the model cannot be reached: [Errno 111] Connection refused", True),
        ("the model is asked too often (429)", True),
        ("the model's server takes no such key (401)", True),
        ("OPENAI_API_KEY is not set", True),
        ("the model did not answer in 60 s", True),
        ("codex failed: 503 tests passed, 2 failed", False),
        ("claude failed: the authentication tests fail in auth.py", False),
        ("claude failed: the variable debug is not set in config.py", False),
        ("codex failed: the API key rotation is hard to test", False),
        ("Research got no answer that can be used in 3 tries: claims is missing", False),
    ],
)
def test_errors_that_say_that_nobody_is_there(message: str, down: bool) -> None:
    assert is_down_message(message) is down


def test_a_role_may_have_one_agent_or_a_list_with_hints() -> None:
    found = parse_workflow_settings(
        {"specialists": {"planner": "claude", "executor": ["codex", {"agent": "claude", "goodAt": ["docs"]}]}}
    )

    assert found.specialist_adapters() == {"planner": "claude"}
    assert found.specialists == {"planner": "claude", "executor": "codex"}
    assert found.lists == {
        "executor": (AgentCandidate(agent="codex"), AgentCandidate(agent="claude", good_at=("docs",)))
    }


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"specialists": {"executor": []}}, "specialists: executor: a list has 1 to 10 agents"),
        ({"specialists": {"executor": ["codex", "codex"]}}, "each agent must be in the list once, by its name"),
        ({"specialists": {"executor": ["codex", "nobody"]}}, "'nobody' cannot back one"),
        ({"specialists": {"executor": ["codex", {"agent": "claude", "goodat": ["x"]}]}}, "goodat is not known"),
        ({"lists": {}}, "lists is not known"),
    ],
)
def test_a_wrong_list_is_an_error(value: object, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_workflow_settings(value)

    assert said in refused.value.message
