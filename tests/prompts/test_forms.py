"""Documents, JSON Schemas and BAML say the same about a form; and what no form can say is checked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gitnexus.base.errors import Invalid
from gitnexus.policy.signed import PROMPTS
from gitnexus.prompts import FUNCTIONS, function_named
from gitnexus.prompts.call import frame_input
from gitnexus.prompts.connection import is_unfinished_json
from gitnexus.prompts.model import prompt_schema
from gitnexus.prompts.words import (
    FOLDER,
    NAMES,
    builtin_prompt_files,
    overlay_prompt_files,
    prompt_template,
    render_messages,
)
from tests.prompts.test_contract import BLOCKED, GIVEN, GOOD, STEP

_LEAF = st.one_of(st.text(max_size=3), st.integers(-3, 300), st.booleans(), st.just([]), st.just({}), st.none())


def _changed(value: Any, draw: st.DrawFn) -> Any:
    """Return a value with one thing in it replaced, taken away or added."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        kind = draw(st.sampled_from(["into", "drop", "add"]))
        rest = {name: item for name, item in value.items() if name != key}
        return (
            {**value, "extra": 1}
            if kind == "add"
            else rest
            if kind == "drop"
            else {**rest, key: _changed(value[key], draw)}
        )
    if isinstance(value, list) and value and draw(st.booleans()):
        return [_changed(value[0], draw), *value[1:]]
    return draw(_LEAF)


@given(st.data())
@settings(deadline=None)
def test_a_schema_takes_what_its_document_takes(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FUNCTIONS)))
    function = FUNCTIONS[name]
    value = _changed(GOOD[name] if name != "ExecStep" else {**GOOD[name], "blocked": BLOCKED["blocked"]}, data.draw)  # type: ignore[arg-type]
    by_schema = Draft202012Validator(prompt_schema(function.output, name)).is_valid(value)
    try:
        function.output.from_value(value, "it")
        by_document = True
    except Invalid:
        by_document = False

    # A document takes null for what is optional.
    if "null" not in json.dumps(value):
        assert by_schema == by_document


@given(st.dictionaries(st.text(max_size=5), st.recursive(_LEAF, lambda one: st.lists(one, max_size=3)), max_size=4))
def test_an_object_that_breaks_off_anywhere_is_noticed(value: dict[str, Any]) -> None:
    whole = json.dumps(value, ensure_ascii=False)

    assert not is_unfinished_json(whole) and not is_unfinished_json(f"Sure: {whole} - done {{")
    assert all(is_unfinished_json(whole[:end]) for end in range(1, len(whole)))


@given(st.text(max_size=60))
def test_an_input_stands_between_two_lines_that_it_cannot_hold(text: str) -> None:
    first, *body, last = frame_input("name", text).split("\n")

    assert first.startswith("<<< ") and first.endswith(" name") and last == f">>> {first.split(' ')[1]}"
    assert last[4:] not in "\n".join(body)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_schemas_are_schemas_and_fit_good_values(name: str) -> None:
    function = FUNCTIONS[name]
    for form, value in ((function.inputs, GIVEN[name]), (function.output, GOOD[name])):
        schema = prompt_schema(form, name)
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("RoutePrompt", {"nodes": [], "confidence": 1, "why": "w"}, "1 to 500"),
        ("RoutePrompt", {**GOOD["RoutePrompt"], "nodes": GOOD["RoutePrompt"]["nodes"][1:]}, "not an earlier node"),
        ("RoutePrompt", {**GOOD["RoutePrompt"], "confidence": 101}, "confidence should be at most 100"),
        ("MakePlan", {"goal": "g", "steps": [STEP, STEP]}, "an id of its own"),
        ("MakePlan", {"goal": "g", "steps": [{**STEP, "commands": [[]]}]}, "a list of words"),
        ("MakePlan", {"goal": "g", "steps": [{**STEP, "risk": 4}]}, "risk should be at most 3"),
        ("PlanPatch", {"summary": "s", "changes": []}, "at least one"),
        ("PlanPatch", {"summary": "s", "changes": [{"op": "split", "step": "S1", "why": "w"}]}, "which steps"),
        ("PlanPatch", {"summary": "s", "changes": [{"op": "remove", "step": "S1", "why": "w", "steps": [STEP]}]},
         "no steps"),
        ("ExecStep", {"status": "blocked", "summary": "s"}, "blocked should be there"),
        ("ExecStep", {**BLOCKED, "actions": GOOD["ExecStep"]["actions"]}, "proposes no actions"),
        ("ExecStep", {"status": "done", "summary": "s", "actions": [{"kind": "command", "summary": "c"}]},
         "should have argv"),
    ],
)  # fmt: skip
def test_what_has_the_form_and_makes_no_sense_is_refused(name: str, value: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        function_named(name).answer(value)


def test_the_files_that_must_be_signed_are_the_files_of_functions() -> None:
    assert set(PROMPTS) == {f"{FOLDER}/{name}" for name in NAMES}
    assert set(builtin_prompt_files()) == {*NAMES, "nexus.baml"}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("function Research(", "function Find(", "there is no such function"),
        ("{{ context }}", "", "leaves out {{ context }}"),
        ("{{ feedback }}", "", "leaves out {{ feedback }}"),
        ("question: string, ", "", "should be"),
        ("-> ResearchBundle", "-> Plan", "should be"),
        ('prompt #"', 'prompts #"', "has no prompt"),
    ],
)
def test_words_of_a_project_that_cannot_work_are_refused(before: str, after: str, words: str) -> None:
    text = builtin_prompt_files()["research.baml"].replace(before, after, 1)

    with pytest.raises(Invalid, match=words):
        overlay_prompt_files({"research.baml": text.encode()})


def test_other_files_of_a_project_are_refused() -> None:
    for name, raw in (("nexus.baml", b""), ("plan.baml", b"\xff"), ("plan.baml", b" " * 70_000)):
        with pytest.raises(Invalid):
            overlay_prompt_files({name: raw})


def test_what_only_baml_understands_is_refused_by_the_other_way() -> None:
    for more in ("{% if question %}x{% endif %}", "{{ question | upper }}", "{{ env.HOME }}"):
        text = builtin_prompt_files()["research.baml"].replace("{{ question }}", f"{{{{ question }}}} {more}", 1)
        files = overlay_prompt_files({"research.baml": text.encode()})
        with pytest.raises(Invalid, match="only BAML understands"):
            render_messages(files, FUNCTIONS["Research"], {"question": "q", "context": "c", "feedback": ""}, "f")


def test_each_function_of_a_file_has_its_own_words() -> None:
    assert "You turn a goal into steps" in prompt_template(builtin_prompt_files(), FUNCTIONS["MakePlan"])
    assert "as little of it as gets it going" in prompt_template(builtin_prompt_files(), FUNCTIONS["PlanPatch"])
