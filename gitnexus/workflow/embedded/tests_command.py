"""Finds the command that runs a project's tests, from the files that tell it. Pure but for reading those files."""

import re
import tomllib
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.packs.tree import BaseTree

_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py")
_PYTEST = ("python3", "-m", "pytest")
# A project that is installed from its folder is imported from there; the tests of a run are about the run's own files.
_FROM_SRC = ("-o", "pythonpath=src")
_IN_SRC = re.compile(r"src/[^/]+(?:\.py|/__init__\.py)")
_SETS_PATH = re.compile(r"^\s*pythonpath\s*=", re.MULTILINE)
_TARGET = re.compile(r"^(test|tests|check)\s*:(?!=)", re.MULTILINE)
_UNSET = "no test specified"


def find_test_command(base: BaseTree) -> tuple[str, ...]:
    """Return the command that runs all tests, empty if no file tells one.

    A make target called test comes first, as people wrote it for that; then what the language brings with it.
    """
    for name in ("Makefile", "makefile", "GNUmakefile"):
        targets = _TARGET.findall(_read_text(base, name))
        if targets:
            return ("make", "test" if "test" in targets else targets[0])
    if _npm_has_tests(base):
        return ("npm", "test")
    paths = base.paths()
    for name, argv in (("Cargo.toml", ("cargo", "test")), ("go.mod", ("go", "test", "./..."))):
        if name in paths:
            return argv
    if _uses_pytest(base, paths):
        return _pytest_command(base, paths)
    return ("python3", "-m", "unittest") if any(_TEST_FILE.search(path) for path in paths) else ()


def with_test_paths(argv: tuple[str, ...], paths: tuple[str, ...], base: BaseTree) -> tuple[str, ...]:
    """Return the command for the tests in some paths only, empty if it is unknown."""
    if not paths:
        return argv
    python, known = all(path.endswith(("/", ".py")) for path in paths), base.paths()
    return (*_pytest_command(base, known), *paths) if python and _uses_pytest(base, known) else ()


def _pytest_command(base: BaseTree, paths: list[str]) -> tuple[str, ...]:
    """Return the command for pytest, which imports from src/ what is there unless the project says from where."""
    told = any(
        _SETS_PATH.search(_read_text(base, name))
        for name in ("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
    )
    in_src = any(_IN_SRC.fullmatch(path) for path in paths)
    return (*_PYTEST, *_FROM_SRC) if in_src and not told else _PYTEST


def _uses_pytest(base: BaseTree, paths: list[str]) -> bool:
    if any(name in paths for name in _PYTEST_FILES):
        return True
    tool = _parse_toml(_read_text(base, "pyproject.toml"))
    if "pytest" in tool.get("tool", {}) or "[tool:pytest]" in _read_text(base, "setup.cfg"):
        return True
    tested = [path for path in paths if _TEST_FILE.search(path)]
    return any(re.search(r"^(?:import|from) pytest\b|^def test_", _read_text(base, path), re.M) for path in tested[:20])


def _npm_has_tests(base: BaseTree) -> bool:
    try:
        value: Any = parse_json(_read_text(base, "package.json").encode())
    except Invalid:
        return False
    scripts = value.get("scripts") if isinstance(value, dict) else None
    found = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(found, str) and bool(found.strip()) and _UNSET not in found


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _read_text(base: BaseTree, path: str) -> str:
    blob = base.read(path)
    return blob.data.decode("utf-8", "replace") if blob is not None else ""
