"""Many writers at once, and writers that are killed."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitnexus.events import RunLog, verify_log
from tests.events.scene import begun, says
from tests.forked import ForkedPython

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from gitnexus.events import RunLog
log = RunLog(Path(sys.argv[1]), head=Path(sys.argv[2]))
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    log.append("agent.progress", "agent:" + sys.argv[3], {"text": str(number)})
"""


@pytest.mark.parametrize("count", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_of_eight_processes_that_write_at_once_every_event_is_there_in_one_chain(tmp_path: Path, count: int) -> None:
    log = begun(tmp_path, 1, head=tmp_path / "run.head")
    argv = [str(log.folder), str(tmp_path / "run.head")]
    writers = [ForkedPython(WRITER, *argv, str(at), str(count)) for at in range(8)]

    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.wait() for writer in writers] == [0] * 8

    assert verify_log(log).events == 8 * count + 1
    for at in range(8):
        said = [event.body["text"] for event in RunLog(log.folder).read() if event.actor == f"agent:{at}"]
        assert said == [str(number) for number in range(count)]


@pytest.mark.parametrize("times", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_nothing_that_it_reported(tmp_path: Path, times: int) -> None:
    argv = [sys.executable, "-m", "tests.events.killed", str(tmp_path), str(times)]

    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("lost 0, torn 0, some reported True\n", "")


def test_threads_may_share_a_log(tmp_path: Path) -> None:
    log = begun(tmp_path, 1, head=tmp_path / "run.head")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda at: says(log, str(at)), range(60)))

    assert verify_log(log).events == 61
    assert sorted(int(event.body["text"]) for event in list(log.read())[1:]) == list(range(60))
