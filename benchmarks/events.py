"""Replaying a long run beside reading its file with json.loads; an event made durable beside write and fsync."""

import itertools
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Ratio, compare

from gitnexus.events import RunLog, fold, verify_log
from gitnexus.events.chain import iterate_event_lines
from gitnexus.events.log import EventDraft
from gitnexus.events.timeline import format_timeline

RUN = "0101-long"
HASH = "sha256:" + "a" * 64
AT_ONCE = 500


def story(count: int) -> Iterator[EventDraft]:
    """Yield what a busy run is made of: mostly progress, some actions with all that belongs to one."""
    yield EventDraft("workflow.started", "person:ann", {"run": RUN, "definition": HASH, "task": "a long one"})
    for at in range(count // 10):
        action = f"a{at}"
        summary = "make the parser accept a trailing comma in every list"
        for part in range(4):
            yield EventDraft(
                "agent.progress", "agent:claude", {"text": f"reading file {part} of the package", "node": "N1"}
            )
        yield EventDraft("agent.spent", "agent:claude", {"input": 1200, "output": 310, "cost": 900})
        proposed = {"action": action, "actionKind": "patch", "summary": summary, "digest": HASH, "node": "N1"}
        yield EventDraft("action.proposed", "agent:claude", proposed)
        judged = {"action": action, "verdict": "ask", "rule": "writes-source", "why": "it writes below src"}
        yield EventDraft("action.judged", "nexus", judged)
        granted = {"action": action, "digest": HASH, "by": "ann", "scope": "once"}
        yield EventDraft("permission.granted", "person:ann", granted)
        intended = {"action": action, "tool": "repo.commit", "digest": HASH, "nonce": f"{at:032x}"}
        yield EventDraft("tool.intended", "nexus", intended)
        yield EventDraft("tool.executed", "nexus", {"action": action, "tool": "repo.commit", "ok": True})


def printed(told: Iterator[str]) -> None:
    """Write lines as the command does, to where nobody reads them."""
    with open(os.devnull, "w") as nowhere:
        while some := list(itertools.islice(told, AT_ONCE)):
            print("\n".join(some), file=nowhere)


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as scratch:
        log = RunLog(Path(scratch, RUN))
        log.append_many(list(story(100_000)))

        def plainly() -> None:
            with log.path.open("rb") as handle:
                for line in handle:
                    json.loads(line)

        name = "json.loads of each line"
        yield compare("replay of 100,000 events, chain checked", lambda: fold(log.read()), name, plainly, 3.0, 5)
        yield compare(
            "replay --json of 100,000", lambda: printed(iterate_event_lines(log.raw(), RUN)), name, plainly, 3.0, 5
        )
        told = "replay of 100,000 events, in words"
        yield compare(told, lambda: printed(format_timeline(log.read())), name, plainly, 3.0, 5)
        yield compare("verify of 100,000 events", lambda: verify_log(log), name, plainly, 3.0, 5)

        ours = RunLog(Path(scratch, "0102-short"), head=Path(scratch, "head"))
        ours.append("workflow.started", "nexus", {"run": "0102-short", "definition": HASH})
        bare = os.open(Path(scratch, "bare"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        line = log.path.read_bytes().splitlines(keepends=True)[1]

        def written() -> None:
            os.write(bare, line)
            os.fsync(bare)

        event = EventDraft("agent.progress", "agent:claude", {"text": "reading file 1 of the package", "node": "N1"})
        yield compare("an event, durable", lambda: ours.append(*event), "write and fsync", written, 3.0, 400)
        os.close(bare)
