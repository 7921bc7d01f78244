"""Settings add capabilities to roles and take none away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.effective import CatalogSettings, added_capabilities, denied_harness_tools, effective_capabilities
from gitnexus.catalog.harnesses import HARNESSES

CATALOG = builtin_catalog()


def layer(**capabilities: tuple[str, ...]) -> CatalogSettings:
    return CatalogSettings(capabilities=dict(capabilities))


def test_canonical_comes_first_then_what_was_added_each_once() -> None:
    added = added_capabilities(CATALOG, [layer(engineer=("no_shell_exec", "no_task_create", "no_shell_exec"))])

    assert effective_capabilities(CATALOG, "engineer", added) == ("no_task_create", "no_shell_exec")
    assert effective_capabilities(CATALOG, "writer", added) == ("no_task_create",)


def test_layers_add_up_so_that_a_project_cannot_undo_what_the_user_added() -> None:
    added = added_capabilities(CATALOG, [layer(engineer=("no_shell_exec",)), layer(engineer=("no_task_close",))])
    emptied = added_capabilities(CATALOG, [layer(engineer=("no_shell_exec",)), layer(engineer=())])

    assert effective_capabilities(CATALOG, "engineer", added) == ("no_task_create", "no_shell_exec", "no_task_close")
    assert effective_capabilities(CATALOG, "engineer", emptied) == ("no_task_create", "no_shell_exec")


@pytest.mark.parametrize(
    ("given_layer", "words"),
    [
        (layer(engineer=("-no_task_create",)), "engineer: '-no_task_create' would take a capability away"),
        (layer(engineer=("!no_task_create",)), "engineer: '!no_task_create' would take a capability away"),
        (layer(engineer=("no_shel_exec",)), "no capability 'no_shel_exec' (did you mean no_shell_exec?)"),
        (layer(enginer=("no_shell_exec",)), "there is no role 'enginer' (did you mean engineer?)"),
        (layer(engineer=("",)), "engineer: there is no capability ''"),
    ],
)
def test_what_removes_or_is_unknown_is_refused_by_name(given_layer: CatalogSettings, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        added_capabilities(CATALOG, [given_layer])

    assert words in refused.value.message
    assert refused.value.code == 6


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        added_capabilities(CATALOG, [layer(x=("no_shell_exec",)), layer(engineer=("-a", "b"))])

    assert len(refused.value.context["wrong"]) == 3


def test_a_misspelt_key_is_refused_since_it_may_be_a_restriction() -> None:
    with pytest.raises(Invalid) as refused:
        CatalogSettings.from_value({"capabilties": {}}, "settings.json: catalog")

    assert refused.value.message == "settings.json: catalog: capabilties is not known"


def test_denied_tools_are_those_of_all_capabilities_each_once() -> None:
    found = denied_harness_tools(CATALOG, CATALOG.agent("architect").capabilities, HARNESSES["claude-code"])

    assert found == (
        "Write",
        "Edit",
        "NotebookEdit",
        "mcp__nexus__nx_task_add",
        "mcp__nexus__nx_plan_tasks",
        "mcp__nexus__nx_task_update",
        "mcp__nexus__nx_task_close",
    )


def test_a_capability_that_is_not_there_denies_nothing_silently() -> None:
    with pytest.raises(NotFound):
        denied_harness_tools(CATALOG, ["no_such_thing"], HARNESSES["codex"])


_NAMES = st.lists(st.sampled_from(sorted(CATALOG.capabilities)))


@given(role=st.sampled_from(sorted(CATALOG.agents)), first=_NAMES, second=_NAMES)
def test_no_addition_ever_shrinks_what_is_denied(role: str, first: list[str], second: list[str]) -> None:
    some = added_capabilities(CATALOG, [CatalogSettings(capabilities={role: tuple(first)})])
    more = added_capabilities(CATALOG, [CatalogSettings(capabilities={role: tuple(one)}) for one in (first, second)])

    canonical = set(CATALOG.agent(role).capabilities)
    assert (
        canonical
        <= set(effective_capabilities(CATALOG, role, some))
        <= set(effective_capabilities(CATALOG, role, more))
    )
    for harness in HARNESSES.values():
        fewer = set(denied_harness_tools(CATALOG, effective_capabilities(CATALOG, role, some), harness))
        assert fewer <= set(denied_harness_tools(CATALOG, effective_capabilities(CATALOG, role, more), harness))
