"""A decision of the gate under 200 rules, beside a plain loop over 200 compiled patterns for the same words."""

import re
from collections.abc import Callable, Iterator

from measure import Ratio, compare

from gitnexus.policy.gate import decide
from gitnexus.policy.law import Law, law_of
from gitnexus.policy.model import Change, CommandRequest, PatchRequest
from gitnexus.policy.patterns import narrow
from gitnexus.policy.rules import policy_of

RULES = 200
# Often enough that one round is milliseconds; the caches of single paths are as warm as they are in a run.
TIMES = 50


def _law() -> tuple[Law, list[re.Pattern[str]]]:
    paths = [f"part{number}/module*/**" for number in range(RULES // 2)]
    denied = [f"part{number}/secret?/*.bin" for number in range(RULES // 4)]
    front = ["---", "version: 1", "allow:", *(f'  - write: ["{path}"]' for path in paths)]
    front += [f'  - run: ["tool{number}", "check", "{{path}}"]' for number in range(RULES // 4)]
    front += ["deny:", *(f'  - write: ["{path}"]' for path in denied), "---", ""]
    patterns = [*paths, *denied, *(f"tool{number}/check/*" for number in range(RULES // 4))]
    law = law_of(policy_of("\n".join(front).encode(), "user"))
    assert len(law.rules) == len(patterns) == RULES
    return law, [re.compile(narrow(pattern)) for pattern in patterns]


def _patch(files: int) -> PatchRequest:
    rows = (f"part{RULES // 2 - 1}/module{at}/deep/file{at}.py" for at in range(files))
    changes = (Change(path=path, old_mode="100644", new_mode="100644", old_blob="a", new_blob="b") for path in rows)
    return PatchRequest(project="p", run="r", base="c", base_tree="a", result_tree="b", changes=tuple(changes))


def _command() -> CommandRequest:
    return CommandRequest(
        project="p", run="r", argv=(f"tool{RULES // 4 - 1}", "check", "src/deep/file.py"), program="/usr/bin/tool",
        program_digest="d", cwd="/w", base="c", env={"PATH": "/usr/bin"}, limits={"seconds": 60},
    )  # fmt: skip


def _loop(patterns: list[re.Pattern[str]], words: list[str]) -> Callable[[], object]:
    def run() -> int:
        return sum(1 for _ in range(TIMES) for word in words for one in patterns if one.fullmatch(word))

    return run


def ratios() -> Iterator[Ratio]:
    law, patterns = _law()
    for what, request, words in (
        ("a patch of 1 file", one := _patch(1), [change.path for change in one.changes]),
        ("a patch of 20 files", many := _patch(20), [change.path for change in many.changes]),
        ("a command", run := _command(), ["/".join(run.argv)]),
    ):
        assert decide(request, law).verdict == "allow"

        def ours(request: PatchRequest | CommandRequest = request) -> None:
            for _ in range(TIMES):
                decide(request, law)

        yield compare(f"{TIMES} decisions on {what}, {RULES} rules", ours, "a loop of as many compiled patterns",
                      _loop(patterns, words), 2.0, 20)  # fmt: skip
