"""Attacks on what is verified and landed; the numbers are those of the list of attacks."""

import json
from pathlib import Path

import pytest

from gitnexus.policy.commit_message import Trailers, format_commit_message
from tests.conftest import Nexus, run_git
from tests.runs.scene import RUN, RunScene, commit_tree, prepared, raw_message, tree_of

OTHER = "261116-1503-zzzz"


@pytest.fixture
def run(project: Path, nexus: Nexus) -> RunScene:
    return prepared(nexus, "a run that just began", RunScene)


def status_of(nexus: Nexus, commit: str, place: Path | None = None) -> str:
    told = json.loads(nexus("verify", "--json", f"main..{commit}", place=place).stdout)
    return str(told["commits"][-1]["status"])


@pytest.mark.parametrize(
    ("claims", "trailers"),
    [
        pytest.param({"project": "f" * 16}, {}, id="110-other-project"),
        pytest.param({"run": OTHER}, {}, id="110-other-run-in-the-token"),
        pytest.param({}, {"run": OTHER}, id="110-other-run-in-the-trailers"),
        pytest.param({}, {"actions": ("a9",)}, id="110-other-action"),
        pytest.param({"base": "b" * 40, "patch_id": ""}, {}, id="110-other-base"),
        pytest.param({"result": "c" * 40, "patch_id": "sha256:" + "0" * 64}, {}, id="110-other-result"),
    ],
)
def test_an_approval_of_something_else_approves_nothing(
    run: RunScene, nexus: Nexus, claims: dict[str, str], trailers: dict[str, object]
) -> None:
    tree = tree_of(run.project, run.commit({"a.txt": "a\n"}))
    token = run.token("a1", tree_of(run.project, run.base), tree, **claims)
    said = Trailers(RUN, ("a1",), "scripted", (token,))._replace(**trailers)  # type: ignore[arg-type]
    made = commit_tree(run.project, tree, [run.base], format_commit_message("x", "", said))
    run_git(run.project, "update-ref", f"refs/heads/nexus/{RUN}", made)
    run.end()

    assert status_of(nexus, made) == "invalid"
    assert nexus("land", RUN).returncode == 22


def test_a_project_of_the_same_content_is_another_one(run: RunScene, nexus: Nexus, tmp_path: Path) -> None:
    """110: a repository with the same commits and approver, made a project by itself."""
    made = run.commit({"a.txt": "a\n"})
    twin = tmp_path / "twin"
    run_git(tmp_path, "clone", "-q", "--no-local", str(run.project), str(twin))
    run_git(twin, "branch", "picked", made)
    run_git(twin, "remote", "remove", "origin")
    nexus.ok("init", place=twin)

    assert status_of(nexus, "picked", twin) == "invalid"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x\n\nNexus-Run: r\nNexus-Approval: {token}\n\nthe end", id="190-forged-in-the-middle"),
        pytest.param("x\n\n---\nNexus-Approval: {token}\n---\nthe end", id="191-divider"),
    ],
)
def test_trailers_that_are_not_the_last_paragraph_are_words(run: RunScene, nexus: Nexus, body: str) -> None:
    token = raw_message(run.project, run.commit({"a.txt": "a\n"})).split("Nexus-Approval: ")[1].strip()
    text = f"subject\n\n{body.replace('{token}', token)}\n"
    made = commit_tree(run.project, tree_of(run.project, run.tip), [run.base], text)

    assert status_of(nexus, made) == "unapproved"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("Nexus-Approval: nx1.forged.forged", id="190-body-begins-a-trailer"),
        pytest.param("words\n\nNexus-Run: x\nNexus-Approval: nx1.a.b", id="190-body-ends-in-trailers"),
        pytest.param("words\n---\nmore", id="191-divider-in-the-body"),
    ],
)
def test_words_of_an_agent_neither_forge_nor_hide_trailers(run: RunScene, nexus: Nexus, body: str) -> None:
    made = run.commit({"a.txt": "a\n"}, summary=f"x\n\n{body}", body=body)
    run.end()

    assert status_of(nexus, made) == "approved"
    nexus.ok("land", RUN, "--squash")
    assert json.loads(nexus.ok("verify", "--json", "--require-approval", f"{run.base}..HEAD"))["ok"] is True


def test_a_replaced_commit_deceives_nobody(run: RunScene, nexus: Nexus) -> None:
    """git replace shows everybody who asks git another commit under the same id."""
    good = run.commit({"a.txt": "a\n"})
    run.end()
    tree = tree_of(run.project, run.base)
    (run.worktree / "evil.txt").write_text("x\n")
    run_git(run.worktree, "add", "-A")
    tree = run_git(run.worktree, "write-tree").strip()
    evil = commit_tree(run.project, tree, [run.base], raw_message(run.project, good))
    run_git(run.project, "replace", good, evil)

    done = nexus("land", RUN)

    assert done.returncode == 22
    assert not (run.project / "evil.txt").exists()
    assert run_git(run.project, "rev-parse", "HEAD").strip() == run.base
