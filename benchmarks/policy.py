"""A decision of the gate under 200 rules, beside a plain loop over 200 compiled patterns for the same words."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from measure import Ratio, compare

from gitnexus.policy.compiled_rules import CompiledPolicy, compile_policy
from gitnexus.policy.gate import decide_request
from gitnexus.policy.model import CommandRequest, PatchRequest, PatchRow
from gitnexus.policy.patterns import narrow_regex
from gitnexus.policy.rules import parse_policy

RULES = 200
# Often enough that one round is milliseconds. Each decision is about names that were never seen before.
TIMES = 50


def _law() -> tuple[CompiledPolicy, list[re.Pattern[str]]]:
    paths = [f"part{number}/module*/**" for number in range(RULES // 2)]
    denied = [f"part{number}/secret?/*.bin" for number in range(RULES // 4)]
    front = ["---", "version: 1", "allow:", *(f'  - write: ["{path}"]' for path in paths)]
    front += [f'  - run: ["tool{number}", "check", "{{path}}"]' for number in range(RULES // 4)]
    front += ["deny:", *(f'  - write: ["{path}"]' for path in denied), "---", ""]
    patterns = [*paths, *denied, *(f"tool{number}/check/*" for number in range(RULES // 4))]
    law = compile_policy(parse_policy("\n".join(front).encode(), "user"))
    assert len(law.rules) == len(patterns) == RULES
    return law, [re.compile(narrow_regex(pattern)) for pattern in patterns]


def _patches(files: int, numbers: Iterator[int]) -> list[PatchRequest]:
    found = []
    for _ in range(TIMES):
        rows = [f"part{RULES // 2 - 1}/module{next(numbers)}/deep/file{next(numbers)}.py" for _ in range(files)]
        changes = [
            PatchRow(path=path, old_mode="100644", new_mode="100644", old_blob="a", new_blob="b") for path in rows
        ]
        found.append(
            PatchRequest(project="p", run="r", base="c", base_tree="a", result_tree="b", changes=tuple(changes))
        )
    return found


def _commands(numbers: Iterator[int]) -> list[CommandRequest]:
    argvs = [(f"tool{RULES // 4 - 1}", "check", f"src/deep/file{next(numbers)}.py") for _ in range(TIMES)]
    return [
        CommandRequest(
            project="p", run="r", argv=argv, program="/usr/bin/tool", program_digest="d", cwd="/w", base="c",
            env={"PATH": "/usr/bin"}, limits={"seconds": 60},
        )
        for argv in argvs
    ]  # fmt: skip


def _words(request: PatchRequest | CommandRequest) -> list[str]:
    if isinstance(request, CommandRequest):
        return ["/".join(request.argv)]
    return [change.path for change in request.changes]


def ratios() -> Iterator[Ratio]:
    law, patterns = _law()
    numbers = itertools.count()
    makers: dict[str, Callable[[], Sequence[PatchRequest | CommandRequest]]] = {
        "a patch of 1 file": lambda: _patches(1, numbers),
        "a patch of 20 files": lambda: _patches(20, numbers),
        "a command": lambda: _commands(numbers),
    }
    for what, make in makers.items():
        fresh: list[PatchRequest | CommandRequest] = [*make()]
        words = [word for request in fresh for word in _words(request)]
        assert {decide_request(request, law).verdict for request in fresh} == {"allow"}

        def renew(
            fresh: list[PatchRequest | CommandRequest] = fresh,
            make: Callable[[], Sequence[PatchRequest | CommandRequest]] = make,
        ) -> None:
            fresh[:] = make()

        def ours(fresh: list[PatchRequest | CommandRequest] = fresh) -> None:
            for request in fresh:
                decide_request(request, law)

        def loop(words: list[str] = words) -> int:
            return sum(1 for word in words for one in patterns if one.fullmatch(word))

        yield compare(f"{TIMES} decisions on {what}, {RULES} rules", ours, "a loop of as many compiled patterns", loop,
                      2.0, 40, before=renew)  # fmt: skip
