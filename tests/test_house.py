"""The house stays clean: floors, doors, sizes, and words that have a home."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gitnexus"
MODULES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted(path.stem for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists())


def contracts() -> list[dict[str, object]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    found: list[dict[str, object]] = settings["contracts"]
    return found


def test_every_room_but_its_owner_is_forbidden_pygit2_and_gitpython() -> None:
    forbidden = {str(name) for name in contracts()[1]["source_modules"]}  # type: ignore[attr-defined]

    assert forbidden == {f"gitnexus.{room}" for room in ROOMS if room != "git"} | {"gitnexus.main"}


def test_every_room_below_the_surfaces_is_forbidden_click() -> None:
    forbidden = {str(name) for name in contracts()[2]["source_modules"]}  # type: ignore[attr-defined]

    assert forbidden == {f"gitnexus.{room}" for room in ROOMS if room not in ("cli", "hooks", "mcp", "tui", "ui")}


def test_every_module_begins_with_what_it_owns_and_stays_small() -> None:
    for module in MODULES:
        text = module.read_text()
        assert ast.get_docstring(ast.parse(text)), f"{module} does not say what it owns"
        assert len(text.splitlines()) <= 500, f"{module} is more than one idea"


def test_no_module_has_a_homeless_name() -> None:
    homeless = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}

    assert [module for module in MODULES if module.stem in homeless] == []


def test_broad_excepts_live_at_the_doors_only() -> None:
    found = [str(module.relative_to(PACKAGE)) for module in MODULES if "BLE001" in module.read_text()]

    assert found == ["hooks/harness.py", "hooks/lifecycle.py", "main.py", "ui/run.py"]


def test_the_top_level_holds_only_what_was_decided() -> None:
    decided = {
        *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", ".ci", "gitnexus"),
        *("githooks", "tests", "conformance", "benchmarks", "docs", ".gitignore", ".pre-commit-hooks.yaml"),
    }
    made = {".git", ".venv", ".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".import_linter_cache"}

    assert {path.name for path in ROOT.iterdir()} - made == decided
