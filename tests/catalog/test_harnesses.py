"""The map from what a capability denies to the tools of each harness has no holes."""

import pytest

from gitnexus.app.tools import TOOLS
from gitnexus.base.errors import NotFound
from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.harnesses import HARNESSES, KNOWN_CLASSES, TOPICS, AbsentTool, Harness, find_harness
from gitnexus.catalog.model import Capability

EACH = pytest.mark.parametrize("harness", HARNESSES.values(), ids=HARNESSES)
CLASSES = {one for capability in builtin_catalog().capabilities.values() for one in capability.blocks_semantic_classes}


def test_the_known_classes_are_those_that_our_vocabulary_blocks() -> None:
    assert set(KNOWN_CLASSES) == CLASSES


@pytest.mark.parametrize("semantic_class", sorted(CLASSES))
@EACH
def test_every_class_is_mapped_in_every_harness_or_its_absence_has_a_reason(
    harness: Harness, semantic_class: str
) -> None:
    found = harness.tools[semantic_class]

    if isinstance(found, AbsentTool):
        assert len(found.why.split()) >= 5
    else:
        assert found
        assert all(isinstance(name, str) and name for name in found)
        assert len(set(found)) == len(found)


@EACH
def test_a_harness_maps_nothing_that_no_capability_blocks(harness: Harness) -> None:
    assert set(harness.tools) == CLASSES


@pytest.mark.parametrize("capability", builtin_catalog().capabilities.values(), ids=builtin_catalog().capabilities)
@EACH
def test_a_capability_denies_at_least_one_tool_unless_each_class_has_a_reason(
    harness: Harness, capability: Capability
) -> None:
    tools = [tool for one in capability.blocks_semantic_classes for tool in harness.tools_of_class(one)]

    without = [one for one in capability.blocks_semantic_classes if isinstance(harness.tools[one], AbsentTool)]
    assert tools or len(without) == len(capability.blocks_semantic_classes)


@EACH
def test_there_is_a_paragraph_for_each_topic(harness: Harness) -> None:
    assert set(harness.notes) == set(TOPICS)
    assert all(len(note) > 100 and note.endswith(".") for note in harness.notes.values())


@EACH
def test_who_can_observe_reads_says_by_which_tool_and_field(harness: Harness) -> None:
    assert harness.reads or not harness.observes_reads
    assert harness.observes_reads == (harness.id in ("claude-code", "gemini-cli", "opencode"))
    assert all(tool.fields for tool in harness.reads)


def test_our_own_tools_are_named_as_each_harness_names_those_of_a_server_called_nexus() -> None:
    found = {name: harness.tools_of_class("nexus_task_state_transition")[0] for name, harness in HARNESSES.items()}

    assert found == {
        "claude-code": "mcp__nexus__nx_task_update",
        "codex": "mcp__nexus__nx_task_update",
        "gemini-cli": "mcp_nexus_nx_task_update",
        "opencode": "nexus_nx_task_update",
        "git-nexus": "nx_task_update",
    }


def test_our_own_tools_in_the_map_are_on_the_shelf_and_none_that_only_reads_is_denied() -> None:
    named = {
        name.removeprefix("nx_")
        for one in CLASSES
        for name in HARNESSES["git-nexus"].tools_of_class(one)
        if name.startswith("nx_")
    }

    assert named <= set(TOOLS)
    assert not any(TOOLS[name].reads_only for name in named & set(TOOLS))


def test_a_harness_that_nobody_knows_is_answered_with_those_that_are_there() -> None:
    with pytest.raises(NotFound) as refused:
        find_harness("emacs")

    assert refused.value.hint == "there are: claude-code, codex, gemini-cli, opencode, git-nexus"
