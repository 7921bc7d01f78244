"""The shortcut for plain commands says what the gate says, or nothing."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.policy.compiled_rules import compile_policy
from gitnexus.policy.fast_commands import quick_command_answer
from gitnexus.policy.fast_policy import render_fast_policy
from gitnexus.policy.gate import GateContext, decide_request
from gitnexus.policy.programs import only_looks
from gitnexus.policy.rules import parse_policy
from tests.policy.scene import command, law, text

PROGRAMS = [
    "git",
    "ls",
    "cat",
    "curl",
    "env",
    "sudo",
    "GIT",
    "git.exe",
    "/usr/bin/git",
    "python3.11",
    "nobody",
    "go",
    "./x",
]
WORDS = [
    *("log", "status", "push", "-5", "-n", "--oneline", "--output=x", "--text", "--textconv", "-c", "-C", "src/a.py"),
    *("private/x", "../private/x", "HEAD:private/x", "--file=.env", ".env", ".env.example", "a b", "", "/w/private/y"),
    *("ext::sh", "curl", "x.PEM", "tests/a", "proc/1/environ", "{name}", "*", "--", "tail", "\u00e9", "-Oless", "grep"),
]
USUAL = st.sampled_from(
    [("git", "log"), ("git", "status"), ("git", "log", "-5"), ("curl", "x"), ("ls",), ("cat", "src/a.py")]
)
_LINES = st.tuples(st.sampled_from(PROGRAMS), st.lists(st.sampled_from(WORDS), max_size=4)).map(
    lambda row: (row[0], *row[1])
)
LINES = st.one_of(
    _LINES, st.tuples(USUAL, st.lists(st.sampled_from(WORDS), max_size=2)).map(lambda row: (*row[0], *row[1]))
)
TOKENS = st.sampled_from(
    ["log", "status", "*", "-5", "{int}", "--n={int}", "{path}", "\\*", "push", "-c", "curl", "\\"]
)
PATTERNS = st.tuples(
    st.sampled_from(["git", "ls", "cat", "curl", "*", "/usr/bin/git", "/usr/bin/curl", "\\", "/", "{name}", "python"]),
    st.lists(TOKENS, max_size=3),
    st.sampled_from([[], ["**"], ["..."]]),
).map(lambda row: [row[0], *row[1], *row[2]])
RULES = st.lists(
    st.tuples(
        st.sampled_from(["allow", "allow", "allow", "ask", "deny"]),
        st.one_of(
            st.sampled_from([["git", "**"], ["git", "log", "**"], ["ls", "**"], ["cat", "**"], ["curl", "**"]]).map(
                lambda words: {"run": words}
            ),
            PATTERNS.map(lambda words: {"run": words}),
            st.sampled_from(["private/**", "src/*.py", "*.md"]).map(lambda path: {"read": [path]}),
            st.sampled_from(["command", "patch"]).map(lambda kind: {"kind": kind}),
        ),
        st.sampled_from(
            [{}, {}, {"role": "tester"}, {"kind": "command"}, {"why": "so"}, {"network": "full"}, {"unconfined": True}]
        ),
    ),
    max_size=6,
)
MODES = st.sampled_from(["default", "default", "acceptEdits", "autopilot", "bypass"])


def fitting(verdict: str, row: dict[str, Any], more: dict[str, str]) -> dict[str, Any] | None:
    """Return the row of a policy, None for one that no policy may have."""
    nameless = row.get("run", [""])[0] in ("*", "{name}")
    if ("read" in row and verdict != "deny") or (verdict == "allow" and ("kind" in row or nameless)):
        return None
    if "unconfined" in more and verdict != "allow":
        more = {}
    return {**more, **row} if "run" in row else row


@settings(deadline=None)
@given(
    rules=RULES,
    mode=MODES,
    argv=LINES,
    cwd=st.sampled_from(["/w", "/w/private", "/w/src", "/elsewhere"]),
    program=st.sampled_from(["", "/usr/bin/git", "/usr/bin/curl", "/w/git", "/usr/lib/cat"]),
    bypass=st.booleans(),
    minimum=st.sampled_from(["L0", "L0", "L1"]),
)
def test_what_the_shortcut_says_of_a_command_the_gate_says(
    rules: list[tuple[str, dict[str, Any], dict[str, str]]],
    mode: str,
    argv: tuple[str, ...],
    cwd: str,
    program: str,
    bypass: bool,
    minimum: str,
) -> None:
    value: dict[str, Any] = {"version": 1, "mode": mode, "sandbox": {"minimum": minimum}}
    for verdict, row, more in rules:
        if (made := fitting(verdict, row, more)) is not None:
            value.setdefault(verdict, []).append(made)
    in_force = compile_policy(user=parse_policy(f"---\n{json.dumps(value)}\n---\n".encode(), "user"), bypass=bypass)
    looks = bool(program) and only_looks(argv)
    request = command(
        *argv,
        program=program or f"/usr/bin/{argv[0].rpartition('/')[2]}",
        cwd=cwd,
        network="none" if looks else "full",
        sandbox="L0",
    )

    decided = decide_request(request, in_force, world=GateContext(worktree="/w", executed_changed=not looks))
    found = quick_command_answer(json.loads(json.dumps(render_fast_policy(in_force))), argv, program, cwd, "/w")

    if found is not None:
        shown = decided.why if decided.verdict != "deny" else f"{decided.why} (rule {decided.rule})"
        assert (decided.verdict, shown) == found, (argv, value)


def test_it_speaks_of_what_a_rule_denies_and_of_what_only_looks_and_is_allowed() -> None:
    allow = "allow:\n- run: [git, log, '**']\n- run: [make]\n- {run: [ninja], unconfined: true}\n"
    written = render_fast_policy(law(f"{allow}deny:\n- run: [curl, '**']"))

    def said(*argv: str) -> str | None:
        found = quick_command_answer(written, argv, f"/usr/bin/{argv[0]}", "/w", "/w")
        return found and found[0]

    assert said("git", "log", "-5") == "allow"
    assert said("ninja") == "allow"
    assert said("curl", "http://x") == "deny"
    assert said("env", "curl", "x") == "deny"
    for line in (("make",), ("git", "status"), ("git", "log", "--output=x"), ("git", "log", ".env"), ("ls",)):
        assert said(*line) is None
    assert (
        render_fast_policy(compile_policy(user=parse_policy(text("mode: bypass"), "user"), bypass=True))["runs"] is None
    )
