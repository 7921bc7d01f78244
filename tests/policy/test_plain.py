"""The shortcut for plain paths says what the gate says, or nothing."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.policy.compiled_rules import compile_policy, why_unreadable
from gitnexus.policy.fast_paths import is_readable, line_that_allows
from gitnexus.policy.fast_policy import render_fast_policy
from gitnexus.policy.gate import decide_request
from gitnexus.policy.model import PatchRequest, PatchRow
from gitnexus.policy.rules import parse_policy

NAMES = [
    "src",
    "docs",
    "a.py",
    "b.md",
    "Makefile",
    "aux.txt",
    "package.json",
    "x.pem",
    ".env",
    "tests",
    "Private",
    "con",
]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
PATTERNS = st.sampled_from(
    [
        "src/**",
        "docs/*.md",
        "src/a.py",
        "**/a.py",
        "private/**",
        "*.py",
        "tests/",
        "docs/**/b.md",
        "[a-d]*/b.md",
        "src/?.py",
    ]
)
RULES = st.lists(
    st.tuples(st.sampled_from(["allow", "ask", "deny"]), PATTERNS, st.sampled_from(["", "tester"]), st.booleans()),
    max_size=6,
)
MODES = st.sampled_from(["default", "acceptEdits", "autopilot"])


@settings(deadline=None)
@given(
    rules=RULES, mode=MODES, path=PATHS, role=st.sampled_from(["", "tester"]), whole=st.booleans(), old=st.booleans()
)
def test_what_the_shortcut_says_the_gate_says(
    rules: list[tuple[str, str, str, bool]], mode: str, path: str, role: str, whole: bool, old: bool
) -> None:
    value: dict[str, object] = {"version": 1, "mode": mode, "edits": ["docs/**"]}
    for verdict, pattern, of, reads in rules:
        subject = "read" if reads and verdict == "deny" else "write"
        row = {
            subject: [pattern.rstrip("/") + "/**" if pattern.endswith("/") else pattern],
            **({"role": of} if of else {}),
        }
        value.setdefault(verdict, [])
        value[verdict].append(row)  # type: ignore[attr-defined]
    if whole:
        value.setdefault("ask", [])
        value["ask"].append({"kind": "patch"})  # type: ignore[attr-defined]
    law = compile_policy(user=parse_policy(f"---\n{json.dumps(value)}\n---\n".encode(), "user"))
    written = json.loads(json.dumps(render_fast_policy(law)))
    change = PatchRow(path=path, old_mode="100644" if old else "", new_mode="100644")
    request = PatchRequest(project="p", run="r", role=role, base="", base_tree="", result_tree="", changes=(change,))

    decided = decide_request(request, law)
    line = line_that_allows(written, path)

    if line is not None:
        assert decided.verdict == "allow", (path, value)
        assert decided.why == f"allowed: {line}"
    if is_readable(written, path):
        assert why_unreadable(law, path) is None


def test_it_says_something_where_a_rule_allows_and_nothing_in_other_modes() -> None:
    plain = b"---\nversion: 1\nallow:\n- write: [src/**]\n---\n"
    counted = plain.replace(b"version: 1", b"version: 1\nmode: autopilot")
    tasks = plain.replace(b"version: 1", b"version: 1\nedits: require-task")

    for raw, line in ((plain, "allow write src/**"), (counted, None), (tasks, None)):
        assert line_that_allows(render_fast_policy(compile_policy(user=parse_policy(raw, "user"))), "src/a.py") == line
