"""Our shell scripts: without a complaint from shellcheck, and the same under every small shell."""

import shutil
from pathlib import Path

import pytest

from tests.slow.calls import call, must
from tests.slow.peers import ROOT

pytestmark = pytest.mark.slow


def test_shellcheck_has_nothing_to_say(shellcheck: Path) -> None:
    scripts = [path for path in (ROOT / ".ci").rglob("*") if path.suffix in ("", ".sh") and path.is_file()]
    scripts += [path for path in [ROOT / "docs" / "tutorial" / "demo.sh"] if path.exists()]

    assert must([shellcheck, "--shell=sh", ROOT / "githooks" / "nexus-hook"], ROOT) == ""
    assert must([shellcheck, *scripts], ROOT) == ""


@pytest.mark.parametrize("shell", [["dash"], ["bash", "--posix"], ["busybox", "sh"]], ids=lambda words: words[0])
def test_the_shim_works_under(shell: list[str], project: Path, request: pytest.FixtureRequest) -> None:
    program = shutil.which(shell[0]) or str(request.getfixturevalue(shell[0]))
    shim: list[str | Path] = [program, *shell[1:], project / ".git" / "nexus" / "hook"]
    (project / "harmless.txt").write_text("nothing to see\n")
    must(["git", "add", "harmless.txt"], project)
    quiet = [must([*shim, event, "x"], project) for event in ("pre-commit", "prepare-commit-msg", "commit-msg")]
    must(["git", "add", "-f", ".nexus"], project)
    refused = call([*shim, "pre-commit"], project)
    must(["git", "worktree", "add", "-q", "../other"], project)
    other = project.parent / "other"
    shutil.rmtree(other / ".nexus", ignore_errors=True)
    must([*shim, "post-checkout", "0" * 40, "0" * 40, "1"], other)

    assert quiet == ["", "", ""]
    assert refused.returncode == 1
    assert "is state: it lives on refs/nexus/state" in refused.stdout
    assert (other / ".nexus").is_dir()
