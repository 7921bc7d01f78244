"""The tests of a Python project without a model: its own files are tested, with its virtual environment."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the folder of programs has another name there")
CHECK = "import own\nimport tool\n\n\ndef test_own():\n    assert own.answer == tool.answer\n"
# Stands for pytest, which the machine need not have: takes `-o pythonpath=` and runs the one test.
RUNNER = (
    "import sys\nargv = sys.argv[1:]\nif argv[:1] == ['-o']:\n"
    "    sys.path.insert(0, argv[1].partition('=')[2])\nsys.path.insert(0, 'tests')\n"
    "import test_own\ntest_own.test_own()\nprint('1 passed')\n"
)


def made(project: Path, **files: str) -> str:
    """Commit a package below src/ with a test; return the folder of an environment, with pytest, that git ignores."""
    written = {"src/own/__init__.py": "answer = 1\n", "tests/test_own.py": CHECK, ".gitignore": ".venv/\n", **files}
    for name, text in written.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "begin")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=project, check=True)
    (packages,) = (project / ".venv" / "lib").glob("python*/site-packages")
    (packages / "pytest.py").write_text(RUNNER)
    (packages / "tool.py").write_text("answer = 2\n")
    # Installed from the folder of the checkout, as `pip install -e .` does it.
    (packages / "own.pth").write_text(f"{project / 'src'}\n")
    return str(project / ".venv" / "bin")


def started(nexus: Nexus, prompt: str = "run the tests") -> str:
    done = nexus("run", prompt, "--json")
    assert done.returncode in (1, 21), done.stderr
    run: str = json.loads(done.stdout)["run"]["id"]
    return run


def test_the_tests_of_a_run_import_its_own_files_with_the_environment_of_the_project(
    nexus: Nexus, project: Path
) -> None:
    folder = made(project)
    run_git(project, "config", "--global", "nexus.toolPath", folder)
    (project / "src" / "own" / "__init__.py").write_text("answer = 2\n")
    run_git(project, "commit", "-qam", "the right answer")
    # What the checkout has now is not what the run is about.
    (project / "src" / "own" / "__init__.py").write_text("answer = 3\n")

    run = started(nexus)
    done = nexus("approve", "--unseen", "--wait", run)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "python3 -m pytest -o pythonpath=src" in done.stdout
    assert "toolPath" not in done.stdout
    assert "1 passed" in nexus.ok("artifacts", run, "a1")


@pytest.mark.parametrize("files", [{"pytest.ini": "[pytest]\npythonpath = src\n"}, {"src/own/__init__.py": "# moved"}])
def test_a_project_that_says_from_where_it_imports_is_not_overruled(
    nexus: Nexus, project: Path, files: dict[str, str]
) -> None:
    made(project, **files)
    if "pytest.ini" not in files:
        run_git(project, "mv", "src", "lib")
        run_git(project, "commit", "-qm", "no src")

    run = started(nexus)

    assert "Run python3 -m pytest\n" in nexus("review", run).stdout


def test_before_and_after_a_failure_the_user_reads_which_command_brings_the_environment(
    nexus: Nexus, project: Path
) -> None:
    folder = made(project)
    cure = "commands do not use .venv until you set: git config --global nexus.toolPath"
    run_git(project, "config", "--global", "nexus.toolPath", "/opt")

    run = started(nexus)
    before = nexus("review", run).stdout
    failed = nexus("approve", "--unseen", "--wait", run)
    run_git(project, "config", "--global", "nexus.toolPath", folder)
    again = nexus("resume", run)

    assert f"{cure} {shlex.quote(folder + ':/opt')}" in before
    assert failed.returncode == 1
    assert f"{cure} {shlex.quote(folder + ':/opt')}" in failed.stdout
    assert again.returncode == 21
    assert "toolPath" not in again.stdout


def test_a_program_that_only_the_environment_has_is_found_once_that_is_set(nexus: Nexus, project: Path) -> None:
    folder = made(project)
    script = Path(folder, "own-check")
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)

    failed = nexus("run", "run `own-check`")

    assert "there is no program own-check" in failed.stdout
    assert f"git config --global nexus.toolPath {shlex.quote(folder)}" in failed.stdout


def test_an_environment_that_came_with_the_repository_is_not_proposed(nexus: Nexus, project: Path) -> None:
    made(project)
    run_git(project, "add", "-f", ".venv/pyvenv.cfg")
    run_git(project, "commit", "-qm", "an environment")

    assert "toolPath" not in nexus("review", started(nexus)).stdout


def test_a_failure_for_another_reason_does_not_speak_of_the_environment(nexus: Nexus, project: Path) -> None:
    made(project)

    failed = nexus("approve", "--unseen", "--wait", started(nexus, "run `ls nope`"))

    assert "No such file or directory" in failed.stdout
    assert "toolPath" not in failed.stdout
