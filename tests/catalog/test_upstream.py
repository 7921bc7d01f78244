"""Upstream's manifest and vocabularies, where they are at hand: they load, agree, and fit our schemas."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.check import parse_manifest
from gitnexus.catalog.generate import write_manifest
from gitnexus.catalog.harnesses import HARNESSES
from gitnexus.catalog.package import load_package, vocabulary_problems
from gitnexus.catalog.routing import render_skill
from gitnexus.catalog.tags import find_tags
from tests.catalog.packages import put
from tests.catalog.test_ours import complaints
from tests.conformance.places import UPSTREAM

PACKAGE = UPSTREAM.parent
needs_package = pytest.mark.skipif(
    not (PACKAGE / "manifest.json").is_file(),
    reason="upstream's manifest.json is not here; NEXUS_UPSTREAM_CONFORMANCE says where its conformance folder is",
)
pytestmark = needs_package


def raw() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((PACKAGE / "manifest.json").read_text(encoding="utf-8"))
    return value


def completed(place: Path) -> Path:
    """Copy what there is of the package and give each role and skill a prompt and its metadata."""
    shutil.copytree(PACKAGE / "vocabulary", place / "vocabulary")
    shutil.copy(PACKAGE / "manifest.json", place)
    for kind in ("agents", "skills"):
        for row in raw()[kind]:
            put(place, f"{kind}/{row['id']}/meta.yml", {key: row[key] for key in row if key != "body_hash"})
            put(place, f"{kind}/{row['id']}/body.md", f"# {row['id']}\n\n{{{{subagent_spawn target_role=writer}}}}\n")
    return place


def test_its_manifest_loads_without_a_problem() -> None:
    manifest, problems = parse_manifest(raw())

    assert problems == []
    assert manifest is not None
    assert manifest.nexus_core_version == "0.10.0"
    assert {agent.id for agent in manifest.agents} == set(builtin_catalog().agents)
    assert {skill.id for skill in manifest.skills} == set(builtin_catalog().skills)


def test_its_vocabularies_load_and_agree_with_the_manifest() -> None:
    assert vocabulary_problems(PACKAGE, raw()["vocabulary"]) == []


def test_its_manifest_and_vocabularies_fit_our_schemas() -> None:
    assert complaints("manifest", raw()) == []
    for name, file, word in (
        ("capability", "capabilities", "capabilities"),
        ("tag", "tags", "tags"),
        ("task-exception", "task-exceptions", "task_exceptions"),
    ):
        rows = yaml.safe_load((PACKAGE / "vocabulary" / f"{file}.yml").read_text(encoding="utf-8"))[word]
        assert [complaints(name, row) for row in rows] == [[] for _ in rows]
    assert complaints("memory-policy", yaml.safe_load((PACKAGE / "vocabulary/memory_policy.yml").read_text())) == []


def test_nothing_is_wrong_with_it_but_the_files_that_are_not_there() -> None:
    rows = [f"{kind}/{row['id']}" for kind in ("agents", "skills") for row in raw()[kind]]

    assert load_package(PACKAGE).problems == tuple(
        f"{path}/{name} is missing" for path in rows for name in ("body.md", "meta.yml")
    )


def test_with_prompts_of_other_hashes_each_hash_is_told(tmp_path: Path) -> None:
    problems = load_package(completed(tmp_path / "p")).problems

    assert len(problems) == 13
    assert all("/body.md has the hash sha256:" in problem for problem in problems)


def test_completed_it_is_a_catalog_and_keeps_what_we_do_not_know(tmp_path: Path) -> None:
    place = completed(tmp_path / "p")
    assert write_manifest(place) == (True, [])

    catalog = load_package(place).catalog

    assert catalog is not None
    assert catalog.agent("engineer").unknown == {"alias_ko": "엔지니어"}
    assert catalog.manifest.nexus_core_commit == raw()["nexus_core_commit"]
    assert [use.id for use in find_tags("[plan:auto] x\n[m:gc]\n[rule:y] z", catalog.tags)] == ["plan", "m-gc", "rule"]
    text = render_skill(catalog, catalog.skill("nx-plan"), HARNESSES["codex"])
    assert "{{subagent_spawn …}} means: Spawn a new subagent session" in text


def test_each_word_of_upstreams_is_one_of_ours_and_means_the_same() -> None:
    theirs, ours = raw()["vocabulary"], json.loads(json.dumps(builtin_catalog().manifest.plain()))["vocabulary"]

    for row in theirs["capabilities"]:
        mine = next(one for one in ours["capabilities"] if one["id"] == row["id"])
        assert (mine["intent"], mine["blocks_semantic_classes"]) == (row["intent"], row["blocks_semantic_classes"])
    for word in ("categories", "resume_tiers", "tags", "invocations", "task_exceptions"):
        assert [row["id"] for row in ours[word]] == [row["id"] for row in theirs[word]]
    for key in ("trigger", "type", "skill", "handler"):
        assert [row.get(key) for row in ours["tags"]] == [row.get(key) for row in theirs["tags"]]
