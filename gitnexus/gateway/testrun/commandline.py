"""Recognizes command lines that run tests."""

from collections.abc import Sequence

# Programs that only start another one: words up to it are skipped.
_STARTERS = {
    ("uv", "run"): 2, ("poetry", "run"): 2, ("pdm", "run"): 2, ("hatch", "run"): 2, ("pipenv", "run"): 2,
    ("npx",): 1, ("pnpx",): 1, ("bunx",): 1, ("bundle", "exec"): 2, ("pnpm", "exec"): 2, ("env",): 1,
}  # fmt: skip
_ALONE = frozenset(
    "pytest py.test jest vitest mocha ava tox nox rspec phpunit ctest nosetests stestr gotestsum".split()
)
# Multi-purpose programs, and the first word that runs tests.
_VERBS = {
    "go": ("test",), "cargo": ("test", "nextest"), "npm": ("test", "t", "tst"), "pnpm": ("test", "t"),
    "yarn": ("test",), "bun": ("test",), "deno": ("test",), "make": ("test", "check", "tests"), "just": ("test",),
    "mvn": ("test", "verify"), "gradle": ("test", "check"), "gradlew": ("test", "check"), "dotnet": ("test",),
    "mix": ("test",), "rake": ("test", "spec"), "swift": ("test",), "bazel": ("test",), "meson": ("test",),
    "sbt": ("test",), "zig": ("test",), "node": ("--test",),
}  # fmt: skip
_MODULES = ("pytest", "unittest", "nose2", "doctest")


def runner_of(argv: Sequence[str]) -> str:
    """Return the runner's name if a command line runs tests, else ""."""
    words = list(argv)
    for starter, count in _STARTERS.items():
        if tuple(word.rpartition("/")[2] for word in words[:count]) == starter:
            words = _after_options(words[count:])
    if not words:
        return ""
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program in _ALONE:
        return program
    if program.startswith("python") and "-m" in rest[:4]:
        module = "".join(rest[rest.index("-m") + 1 :][:1])
        return module if module in _MODULES else ""
    first = "".join(_after_options(rest)[:1]) if program != "node" else "".join(rest[:1])
    if first == "run" and program in ("npm", "pnpm", "yarn", "bun"):
        script = "".join(_after_options(rest)[1:2])
        return program if script.split(":")[0] == "test" else ""
    return program if first in _VERBS.get(program, ()) else ""


def _after_options(words: list[str]) -> list[str]:
    """Return the words from the first that is neither an option nor a variable assignment."""
    for at, word in enumerate(words):
        if not word.startswith("-") and "=" not in word:
            return words[at:]
    return []
