"""The view of a run: folded once, then gone on with, and never taken for another log's."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gitnexus.base.errors import VerificationFailed
from gitnexus.events import chain, fold
from gitnexus.events.model import Event
from tests.conftest import Nexus
from tests.runs.begun import begun

COUNTED = """
import atexit, collections, json, sys
import gitnexus.events.fold, gitnexus.policy.gatekeeper, gitnexus.policy.in_force
counts = collections.Counter()
def count(holder, name, of):
    function = getattr(holder, name)
    def counted(*given, **named):
        counts[of] += 1
        return function(*given, **named)
    setattr(holder, name, counted)
count(sys.modules["gitnexus.events.fold"], "check_event_readable", "events folded")
count(gitnexus.policy.gatekeeper.Gatekeeper, "__init__", "gates")
count(gitnexus.policy.in_force, "parse_policy", "policies parsed")
file = sys.argv.pop(1)
atexit.register(lambda: open(file, "w").write(json.dumps(counts)))
from gitnexus.main import main
main()
"""


def test_events_are_parsed_once_however_often_the_view_is_asked_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []

    def parse(line: bytes) -> Event:
        event = parse_line(line)
        parsed.append(event.seq)
        return event

    parse_line = chain.parse_event_line
    with begun(project) as run:
        monkeypatch.setattr(chain, "parse_event_line", parse)
        first = [run.view() for _ in range(3)]
        known = list(parsed)
        run.log.append("run.cancelled", "user", {"by": "Ada"})
        parsed.clear()
        last = [run.view() for _ in range(3)]

        assert known == list(range(1, first[0].seq + 1))
        assert [seq for seq in parsed if seq <= first[0].seq] == [], "those before it were folded already"
        assert (first[0].status, {view.status for view in last}) == (first[2].status, {"cancelled"})
        assert last[0] == fold(run.events())


def test_a_log_that_changed_where_it_was_folded_is_read_again_and_refused(project: Path) -> None:
    with begun(project) as run:
        run.log.append("run.cancelled", "user", {"by": "Ada"})
        before = run.view()
        raw = run.log.path.read_bytes()
        run.log.path.write_bytes(raw.replace(b'"task":"', b'"task":"x', 1))

        with pytest.raises(VerificationFailed):
            run.view()
        run.log.path.write_bytes(raw)
        assert run.view() == before


@pytest.mark.parametrize(
    ("argv", "gates"), [(("run", "--", "sh", "-c", "echo x > new"), 2), (("approve", "--unseen"), 1)]
)
def test_a_command_folds_each_event_once_and_parses_the_policy_once(
    nexus: Nexus, project: Path, tmp_path: Path, argv: tuple[str, ...], gates: int
) -> None:
    if argv[0] == "approve":
        nexus("run", "--", "sh", "-c", "echo x > new")
        argv = (*argv, json.loads(nexus.ok("--json", "runs"))["runs"][0]["id"], "a1")
    file = tmp_path / "counts.json"

    subprocess.run(
        [sys.executable, "-c", COUNTED, str(file), *argv], cwd=project, check=False, capture_output=True, timeout=60
    )

    counts = json.loads(file.read_text())
    run = json.loads(nexus.ok("--json", "runs", "--all"))["runs"][0]["id"]
    events = len((project / ".git" / "nexus" / "runs" / run / "events.jsonl").read_text().splitlines())
    assert counts["events folded"] <= 2 * events, "all of them once, and once for the checkpoint"
    assert counts["gates"] <= gates
    assert counts["policies parsed"] <= 2, "the user's and the project's"
