"""From a clean clone, on a machine with only git and Python, `make demo` sets up all it needs by itself."""

import os
import sys
from pathlib import Path

import pytest

from tests.slow.calls import copy_of_the_working_tree, must

pytestmark = pytest.mark.slow(seconds=90)


def test_make_demo_works_in_a_fresh_clone_and_sets_up_once(tmp_path: Path, network: dict[str, str]) -> None:
    origin = copy_of_the_working_tree(tmp_path / "origin")
    must(["git", "init", "-q"], origin)
    must(["git", "add", "-A"], origin)
    must(["git", "commit", "-qm", "the project as it is"], origin)
    clone = tmp_path / "ein Büro" / "git nexus"
    must(["git", "clone", "-q", origin, clone], tmp_path)
    (tmp_path / "home").mkdir()
    venv = Path(sys.prefix, "bin")
    path = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep) if Path(folder) != venv)
    env = {**network, "HOME": str(tmp_path / "home"), "PATH": path, "LC_ALL": "C.UTF-8"}
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")

    first = must(["make", "demo", f"PYTHON={base}"], clone, env, seconds=600)
    ready = (clone / ".venv" / ".ready").stat().st_mtime_ns
    second = must(["make", "demo", f"PYTHON={base}"], clone, env)

    assert "refs/nexus/state" in first
    assert "refs/nexus/state" in second
    assert "setting up" not in second
    assert (clone / ".venv" / ".ready").stat().st_mtime_ns == ready
    assert must(["git", "status", "--porcelain"], clone) == ""


def test_the_catalog_comes_with_the_wheel(installed: Path, tmp_path: Path) -> None:
    program = installed / "bin" / "git-nexus"
    data = next((installed / "lib").glob("python*/site-packages/gitnexus/catalog/data"))

    assert "# Engineer" in must([program, "agents", "engineer"], tmp_path)
    assert "is valid: 9 roles, 4 skills." in must([program, "catalog", "check", data], tmp_path)
