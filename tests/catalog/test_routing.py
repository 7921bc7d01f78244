"""A tag leads to the text of a skill for the harness at hand, or to one call of a tool."""

import pytest

from gitnexus.app.tools import TOOLS
from gitnexus.base.tool import input_schema_of
from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.harnesses import HARNESSES, TOPICS
from gitnexus.catalog.routing import HANDLERS, ActionRoute, Route, SkillRoute, render_skill, route_tag
from gitnexus.catalog.tags import find_tags

CATALOG = builtin_catalog()


def routed(message: str, harness: str = "claude-code") -> list[Route]:
    return [route_tag(CATALOG, use, HARNESSES[harness]) for use in find_tags(message, CATALOG.tags)]


def test_a_skill_comes_with_its_body_the_notes_it_asks_for_and_the_matter() -> None:
    (found,) = routed("[plan] the storage")

    assert isinstance(found, SkillRoute)
    assert found.skill == "nx-plan"
    body = CATALOG.body("skills/nx-plan").rstrip("\n")
    note = HARNESSES["claude-code"].notes["resume_invocation"]
    assert found.text == f"{body}\n\n## In Claude Code\n\n{note}\n\nThe matter: the storage"


def test_a_variant_is_the_mode_of_the_same_skill() -> None:
    (found,) = routed("[plan:auto] x", "codex")

    assert isinstance(found, SkillRoute)
    assert found.skill == "nx-plan"
    assert found.text.endswith("\n\nThe mode: auto\n\nThe matter: x")


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("skill", CATALOG.skills)
def test_a_skill_gets_exactly_the_paragraphs_it_asks_for_in_the_words_of_its_harness(skill: str, harness: str) -> None:
    text = render_skill(CATALOG, CATALOG.skill(skill), HARNESSES[harness])

    asked = CATALOG.skill(skill).harness_docs_refs
    assert [topic for topic in TOPICS if HARNESSES[harness].notes[topic] in text] == [
        topic for topic in TOPICS if topic in asked
    ]
    others = [other for name, other in HARNESSES.items() if name != harness]
    assert not any(note in text for other in others for note in other.notes.values())


@pytest.mark.parametrize(
    ("message", "tool", "params", "missing"),
    [
        ("[d] SQLite", "plan_decide", {"decision": "SQLite"}, ("issue_id",)),
        ("[d] #2 SQLite", "plan_decide", {"issue_id": 2, "decision": "SQLite"}, ()),
        ("[d] #2: SQLite", "plan_decide", {"issue_id": 2, "decision": "SQLite"}, ()),
        ("[d] 3 replicas are enough", "plan_decide", {"decision": "3 replicas are enough"}, ("issue_id",)),
        ("[d]", "plan_decide", {}, ("issue_id", "decision")),
        ("[d] #2", "plan_decide", {"issue_id": 2}, ("decision",)),
        ("[m] five calls a second", "memory_store", {"text": "five calls a second"}, ()),
        ("[m]", "memory_store", {}, ("text",)),
        ("[m:gc] please", "memory_gc", {}, ()),
        ("[rule] no sleeps", "rule_store", {"text": "no sleeps"}, ()),
        ("[rule:testing] no sleeps", "rule_store", {"text": "no sleeps", "tag": "testing"}, ()),
        ("[rule:testing]", "rule_store", {"tag": "testing"}, ("text",)),
    ],
)
def test_an_inline_action_is_one_call_with_what_the_message_gives(
    message: str, tool: str, params: dict[str, object], missing: tuple[str, ...]
) -> None:
    (found,) = routed(message)

    assert isinstance(found, ActionRoute)
    assert (found.tool, dict(found.params), found.missing) == (tool, params, missing)


def test_the_tools_that_are_there_know_the_parameters_that_routing_gives() -> None:
    for tool in (TOOLS[name] for name in HANDLERS.values() if name in TOOLS):
        schema = input_schema_of(tool)
        known, required = set(schema["properties"]), set(schema.get("required", ()))
        empty = next(one for one in routed("[d]\n[m]\n[m:gc]\n[rule]") if getattr(one, "tool", "") == tool.name)
        full = next(
            one for one in routed("[d] #1 x\n[m] x\n[m:gc]\n[rule:a] x") if getattr(one, "tool", "") == tool.name
        )
        assert isinstance(empty, ActionRoute)
        assert isinstance(full, ActionRoute)
        assert set(empty.missing) == required
        assert set(full.params) <= known


def test_several_tags_are_several_routes() -> None:
    assert [type(one) for one in routed("[d] a\n[run]\n[m] b")] == [ActionRoute, SkillRoute, ActionRoute]


def test_no_tag_starts_a_manual_skill() -> None:
    assert [skill.id for skill in CATALOG.skills.values() if skill.manual_only] == ["nx-init"]
    assert [tag.id for tag in CATALOG.tags if tag.skill == "nx-init"] == []
