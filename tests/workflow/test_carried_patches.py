"""A patch in a prompt is applied in whatever form it is written, without a model."""

import json
from pathlib import Path

import pytest

from gitnexus.workflow.embedded.executing import find_work
from gitnexus.workflow.embedded.extract_actions import changed_paths
from tests.conftest import Nexus, run_git
from tests.gateway.test_dialects import DIALECTS, NEW, OLD, PATH

# A whole file in a block may as well be shown as an example: rules do not take it for a change.
PATCHES = {name: text for name, text in DIALECTS.items() if "@@" in text or "<<<<" in text or "*** Begin" in text}


@pytest.mark.parametrize("name", PATCHES)
@pytest.mark.parametrize("around", ["{}", "Apply this:\n\n{}"])
def test_a_patch_is_found_in_every_form(name: str, around: str) -> None:
    (work,) = find_work(around.format(PATCHES[name]))

    assert work.refused == ()
    assert work.commands == ()
    assert len(work.diffs) == 1
    assert set(changed_paths(work.diffs)) == {PATH}


@pytest.mark.parametrize(
    "name", ["wrong counts", "@@ without numbers", "fenced, with words around", "apply_patch", "search and replace"]
)
def test_a_patch_in_a_prompt_is_done_by_one_command_and_one_yes(project: Path, nexus: Nexus, name: str) -> None:
    (project / "src").mkdir()
    (project / PATH).write_text(OLD)
    run_git(project, "add", PATH)
    run_git(project, "commit", "-qm", "files")

    started = nexus("run", f"Apply this:\n\n{PATCHES[name]}", "--json")

    assert started.returncode == 21, started.stderr
    run = json.loads(started.stdout)["run"]["id"]
    nexus.ok("approve", "--unseen", "--wait", run)
    assert run_git(project, "show", f"nexus/{run}:{PATH}") == NEW


def test_a_patch_that_fits_in_two_places_is_refused_with_the_reason(project: Path, nexus: Nexus) -> None:
    (project / "a.txt").write_text("foo\nbar\nfoo\n")
    run_git(project, "add", "a.txt")
    run_git(project, "commit", "-qm", "a")

    started = nexus("run", "Apply this:\n\n```diff\n--- a.txt\n+++ a.txt\n@@\n-foo\n+FOO\n```\n")

    assert started.returncode == 1
    assert "a.txt" in started.stdout
    assert "1, 3" in started.stdout
    assert "waiting" not in started.stdout
