"""A program that starts a writer, kills it at a moment nobody chose, and again; it prints what was lost.

A process of its own: forking is safe where there are no threads.
"""

import os
import random
import select
import signal
import sys
from pathlib import Path

from gitnexus.base.errors import NexusError
from gitnexus.events import RunLog, verify_log
from gitnexus.events.anchor import HeadFile
from gitnexus.events.chain import walk_chain
from gitnexus.events.log import EventDraft
from tests.events.scene import RUN, STARTED


def write_for_ever(folder: Path, head: Path, report: int) -> None:
    log = RunLog(folder, head=head)
    while True:
        text = {"text": "x" * random.randrange(3000)}
        drafts = [EventDraft("agent.progress", "agent:x", text)] * random.randrange(1, 4)
        for event in log.append_many(drafts):
            os.write(report, f"{event.seq} {event.prev}\n".encode())


def reported(folder: Path, head: Path) -> bytes:
    """Let a writer live for a moment and return what it reported."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            write_for_ever(folder, head, theirs)
        finally:
            os._exit(3)  # only an error leads here
    os.close(theirs)
    select.select([ours], [], [], 10)  # it lives
    select.select([], [], [], random.random() * 0.01)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit("a writer failed")
    said = b""
    while piece := os.read(ours, 65536):
        said += piece
    os.close(ours)
    return said


def main(place: Path, times: int) -> None:
    folder, head = place / RUN, place / "run.head"
    log = RunLog(folder)
    log.append(*STARTED)
    known: dict[int, str] = {}
    for _ in range(times):
        for line in reported(folder, head).decode().splitlines():
            seq, prev = line.split()
            known[int(seq)] = prev
        if random.random() < 0.3:  # what no kill of a process does, but a power cut: half a line
            with log.path.open("ab") as handle:
                handle.write(b'{"actor":"agent:x","body":{"te')
    log.append("agent.progress", "agent:x", {"text": "the last one"})
    anchor = HeadFile(head).read()
    found = verify_log(log, [anchor] if anchor else [])
    held = {link.event.seq: link.event.prev for link in walk_chain(log.raw(), RUN)}
    lost = [seq for seq, prev in known.items() if held.get(seq) != prev]
    print(f"lost {len(lost)}, torn {found.torn}, some reported {len(known) > times / 2}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]))
    except NexusError as exc:
        print(exc.message)
