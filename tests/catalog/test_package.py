"""A package is whole or it is refused with everything that is wrong with it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.catalog.check import parse_manifest
from gitnexus.catalog.effective import CatalogSettings, added_capabilities, effective_capabilities
from gitnexus.catalog.generate import write_manifest
from gitnexus.catalog.package import load_package
from gitnexus.catalog.yamltext import parse_yaml
from tests.catalog.packages import AGENT, CAPABILITY, SKILL, TAGS, package, put

Spoil = Callable[[Path], object]


def edited(root: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest by hand."""
    value = json.loads((root / "manifest.json").read_text())
    change(value)
    (root / "manifest.json").write_text(json.dumps(value))


def test_a_whole_package_is_a_catalog_with_its_prompts_and_unknown_fields(tmp_path: Path) -> None:
    loaded = load_package(package(tmp_path / "mein Katalog"))

    assert loaded.problems == ()
    assert loaded.catalog is not None
    assert loaded.catalog.body("agents/baker") == "# Baker\n\nBacke Brötchen.\n"
    assert loaded.catalog.agent("baker").plain()["alias_ko"] == "제빵사"
    assert loaded.catalog.source == str((tmp_path / "mein Katalog").resolve())


def test_the_folder_itself_may_be_a_link_as_package_managers_make_them(tmp_path: Path) -> None:
    package(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert load_package(tmp_path / "link").problems == ()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda root: (root / "agents/baker/body.md").unlink(), "agents/baker/body.md is missing"),
        (lambda root: (root / "agents/baker/meta.yml").unlink(), "agents/baker/meta.yml is missing"),
        (lambda root: (root / "vocabulary/tags.yml").unlink(), "vocabulary/tags.yml is missing"),
        (lambda root: put(root, "agents/baker/body.md", "changed"), "agents/baker/body.md has the hash sha256:"),
        (lambda root: (root / "skills/nx-bake/body.md").write_bytes(b"\xff"), "body.md: byte 0 is not UTF-8"),
        (lambda root: (root / "agents/baker/meta.yml").write_bytes(b"\xff"), "meta.yml: byte 0 is not UTF-8"),
        (lambda root: put(root, "agents/baker/body.md", "x" * 2**21), "body.md: it is larger than 1 MiB"),
        (lambda root: put(root, "agents/baker/meta.yml", "# x\n" * 2**16), "meta.yml: it is larger than 128 KiB"),
        (lambda root: put(root, "agents/baker/meta.yml", {**AGENT, "task": "Cake"}), "meta.yml: task is not what"),
        (lambda root: put(root, "agents/baker/meta.yml", {**AGENT, "extra": 1}), "meta.yml: extra is not what"),
        (lambda root: put(root, "agents/baker/meta.yml", {**AGENT, "id": "cook"}), "meta.yml: id is not what"),
        (lambda root: put(root, "agents/baker/meta.yml", "- x\n"), "agents/baker/meta.yml should be an object"),
        (lambda root: put(root, "agents/baker/meta.yml", "a: [\n"), "meta.yml: it is not valid YAML"),
        (lambda root: put(root, "agents/baker/meta.yml", ""), "agents/baker/meta.yml is empty"),
        (lambda root: put(root, "agents/cook/body.md", "x"), "agents/cook is not in manifest.json"),
        (lambda root: put(root, "manifest.json", "{"), "manifest.json: not valid JSON"),
        (lambda root: put(root, "manifest.json", "[]"), "manifest.json should be an object"),
        (lambda root: (root / "manifest.json").unlink(), "manifest.json is missing"),
        (
            lambda root: put(root, "vocabulary/capabilities.yml", {"capabilities": [{**CAPABILITY, "intent": "x"}]}),
            "vocabulary/capabilities.yml: no_shell_exec: intent is not what the manifest says",
        ),
        (lambda root: put(root, "vocabulary/tags.yml", {"tags": TAGS[:1]}), "tags.yml: d is in manifest.json and not"),
        (
            lambda root: put(root, "vocabulary/categories.yml", {"categories": [{"id": "do"}]}),
            "vocabulary/categories.yml[0]: description is missing",
        ),
        (lambda root: put(root, "vocabulary/tags.yml", {"labels": []}), "tags.yml should be an object with tags"),
        (lambda root: edited(root, lambda v: v.pop("agents")), "manifest.json: agents should be a list"),
        (lambda root: edited(root, lambda v: v.pop("vocabulary")), "manifest.json: vocabulary should be an object"),
        (lambda root: edited(root, lambda v: v["vocabulary"].pop("tags")), "vocabulary.tags should be a list"),
        (lambda root: edited(root, lambda v: v["agents"].append(v["agents"][0])), "agent baker occurs twice"),
        (lambda root: edited(root, lambda v: v["agents"][0].pop("name")), "manifest.json: agents[0]: name is missing"),
        (lambda root: edited(root, lambda v: v["agents"][0].update(id="../x")), "'../x' cannot be an id"),
        (lambda root: edited(root, lambda v: v["agents"][0].update(id="a/b")), "'a/b' cannot be an id"),
        (lambda root: edited(root, lambda v: v["agents"][0].update(category="be")), "unknown category 'be'"),
        (lambda root: edited(root, lambda v: v["agents"][0].update(resume_tier="x")), "unknown resume_tier 'x'"),
        (lambda root: edited(root, lambda v: v["agents"][0].update(model_tier="x")), "model_tier should be one of"),
        (lambda root: edited(root, lambda v: v["agents"][0]["capabilities"].append("x")), "unknown capability 'x'"),
        (
            lambda root: edited(
                root, lambda v: v["vocabulary"]["capabilities"][0]["blocks_semantic_classes"].append("magic")
            ),
            "capability no_shell_exec blocks 'magic', which maps to no tool of any harness",
        ),
        (lambda root: edited(root, lambda v: v["skills"].clear()), "tag bake starts the skill 'nx-bake', which is not"),
        (lambda root: edited(root, lambda v: v["skills"][0].update(triggers=["x"])), "names the trigger 'x'"),
        (lambda root: edited(root, lambda v: v["vocabulary"]["tags"][1].update(handler="rm")), "tag d calls 'rm'"),
        (lambda root: edited(root, lambda v: v["vocabulary"]["tags"][1].update(trigger="d")), "not a word in brackets"),
        (lambda root: edited(root, lambda v: v["vocabulary"]["tags"][1].update(trigger="[bake]")), "trigger [bake]"),
        (lambda root: edited(root, lambda v: v.update(schema_contract_version="3.0")), "schema contract 3.0"),
        (lambda root: edited(root, lambda v: v["agents"].extend(v["agents"] * 200)), "has more than 100 entries"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_nothing_is_loaded(tmp_path: Path, spoil: Spoil, words: str) -> None:
    root = package(tmp_path / "p")
    spoil(root)

    loaded = load_package(root)

    assert loaded.catalog is None
    assert any(words in problem for problem in loaded.problems), loaded.problems


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    root = package(tmp_path / "p")
    (root / "agents/baker/body.md").unlink()
    put(root, "skills/nx-bake/body.md", "other")
    put(root, "skills/nx-bake/meta.yml", {**SKILL, "summary": "Other."})
    (root / "vocabulary/categories.yml").unlink()

    told = [problem.partition(" has the hash")[0] for problem in load_package(root).problems]

    assert told == [
        "agents/baker/body.md is missing",
        "skills/nx-bake/body.md",
        "skills/nx-bake/meta.yml: summary is not what the manifest says",
        "vocabulary/categories.yml is missing",
    ]


@pytest.mark.parametrize("path", ["agents/baker/body.md", "agents/baker", "agents", "vocabulary", "manifest.json"])
def test_a_link_inside_is_not_followed_wherever_it_leads(tmp_path: Path, path: str) -> None:
    root = package(tmp_path / "p")
    (root / path).rename(tmp_path / "elsewhere")
    (root / path).symlink_to(tmp_path / "elsewhere")

    loaded = load_package(root)

    assert loaded.catalog is None
    assert any("is a link, or is reached through one" in problem for problem in loaded.problems)


def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused_without_waiting(tmp_path: Path) -> None:
    root = package(tmp_path / "p")
    (root / "agents/baker/body.md").unlink()
    os.mkfifo(root / "agents/baker/body.md")
    (root / "agents/baker/meta.yml").unlink()
    (root / "agents/baker/meta.yml").mkdir()

    assert load_package(root).problems == (
        "agents/baker/body.md: it is not a plain file",
        "agents/baker/meta.yml: it cannot be read: Is a directory",
    )


def test_a_folder_that_cannot_even_be_looked_at_is_said(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    for place in (tmp_path / "loop", tmp_path / ("x" * 5000)):
        (problem,) = load_package(place).problems
        assert "there is no folder" in problem or "cannot be read" in problem


def test_capabilities_of_ours_that_a_package_lacks_can_be_added_to_its_roles(tmp_path: Path) -> None:
    catalog = load_package(package(tmp_path / "p")).catalog
    assert catalog is not None

    added = added_capabilities(catalog, [CatalogSettings(capabilities={"baker": ("no_task_close",)})])

    assert effective_capabilities(catalog, "baker", added) == ("no_shell_exec", "no_task_close")
    assert catalog.capability("no_shell_exec").description == "No commands."
    assert len(catalog.capabilities) == 7


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert load_package(tmp_path / "none").problems == (f"there is no folder {tmp_path / 'none'}",)


def test_metadata_may_leave_out_its_id_and_what_goes_without_saying(tmp_path: Path) -> None:
    root = package(tmp_path / "p")
    put(root, "skills/nx-bake/meta.yml", {**{key: SKILL[key] for key in SKILL if key != "id"}, "manual_only": False})

    assert load_package(root).problems == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x [1]\nb: *x\n", "it uses an alias"),
        ("a: 1\na: 2\n", "the key 'a' occurs twice"),
        ("a: {b: 1, b: 2}\n", "the key 'b' occurs twice"),
        ("? [a]\n: b\n", "it is not valid YAML"),
        ("1: x\n", "the key 1 should be text"),
        ("a: .nan\n", "nan is not a JSON number"),
        ("a: !!binary aGk=\n", "a bytes is none of"),
        ("a: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
        ("a: " + "[" * 5000, "it is nested too deeply"),
        ("a: 1\n---\nb: 2\n", "expected a single document"),
        ("a: \x07\n", "it is not valid YAML"),
    ],
)
def test_yaml_that_json_could_not_say_is_refused(text: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_yaml(text.encode())

    assert words in refused.value.message


def test_a_date_in_yaml_stays_the_text_it_is() -> None:
    assert parse_yaml(b"when: 2026-02-01\nmerge: <<\n") == {"when": "2026-02-01", "merge": "<<"}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_yaml_or_refused_with_a_sentence(raw: bytes) -> None:
    try:
        value = parse_yaml(raw)
    except Invalid as exc:
        assert exc.message
    else:
        json.dumps(value)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["agents", "skills", "vocabulary", "tags", "id", "capabilities"]), inner)
    ),
    max_leaves=12,
)


@given(_VALUES)
def test_any_json_is_a_manifest_or_has_problems(value: Any) -> None:
    manifest, problems = parse_manifest(value)

    assert problems
    assert manifest is None or manifest.plain()


def test_a_manifest_is_made_again_byte_for_byte_and_keeps_its_versions(tmp_path: Path) -> None:
    root = package(tmp_path / "p")
    edited(root, lambda value: value.update(nexus_core_version="7.7.7", nexus_core_commit="abc"))
    assert write_manifest(root) == (True, [])
    first = (root / "manifest.json").read_bytes()

    assert write_manifest(root) == (False, [])
    assert (root / "manifest.json").read_bytes() == first
    assert json.loads(first)["nexus_core_version"] == "7.7.7"
    assert json.loads(first)["nexus_core_commit"] == "abc"


def test_no_manifest_is_written_while_something_is_wrong(tmp_path: Path) -> None:
    root = package(tmp_path / "p")
    before = (root / "manifest.json").read_bytes()
    put(root, "agents/baker/meta.yml", {**AGENT, "capabilities": ["no_such_thing"]})

    assert write_manifest(root) == (False, ["manifest.json: agent baker has the unknown capability 'no_such_thing'"])
    assert (root / "manifest.json").read_bytes() == before


def test_a_manifest_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    root = package(tmp_path / "p")
    (tmp_path / "precious").write_text("{}")
    (root / "manifest.json").unlink()
    (root / "manifest.json").symlink_to(tmp_path / "precious")

    assert write_manifest(root) == (False, ["manifest.json is a link or a folder and is left alone"])
    assert (tmp_path / "precious").read_text() == "{}"
