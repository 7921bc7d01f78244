"""Print every ratio that must hold; with --strict leave with status 1 if one does not, with --large take more projects.

With --quick there are fewer rounds, as in CI: every figure is there, and each is rougher. A busy machine can push a
ratio over its limit, so nothing depends on it by default.
"""

import os
import sys

# A machine may switch bytecode off for everybody; then imports cost double and nothing here is true.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None) is not None:
    os.execv(sys.executable, [sys.executable, *sys.argv])

import chat
import commands
import events
import harness
import mcp_calls
import measure
import memory_notes
import metrics
import policy
import projects
import redaction
import runs
import sandbox
import state_write
import sync
import tokens
import verify
import workflow

CHAPTERS = {
    "state": state_write.ratios,
    "commands": commands.ratios,
    "chat": chat.ratios,
    "harness": harness.ratios,
    "mcp": mcp_calls.ratios,
    "memory": memory_notes.ratios,
    "metrics": metrics.ratios,
    "policy": policy.ratios,
    "projects": projects.ratios,
    "redaction": redaction.ratios,
    "runs": runs.ratios,
    "sandbox": sandbox.ratios,
    "sync": sync.ratios,
    "tokens": tokens.ratios,
    "events": events.ratios,
    "verify": verify.ratios,
    "workflow": workflow.ratios,
}


def main() -> int:
    strict = "--strict" in sys.argv
    if "--quick" in sys.argv:
        os.environ[measure.QUICK] = "1"
    if "--large" in sys.argv:
        os.environ[projects.LARGE] = "1"
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")] or list(CHAPTERS)
    over = 0
    for name in wanted:
        for ratio in CHAPTERS[name]():
            print(ratio.line(), flush=True)
            over += ratio.value > ratio.limit
    print(f"{over} over their limit" if over else "every figure within its limit")
    return 1 if over and strict else 0


if __name__ == "__main__":
    sys.exit(main())
