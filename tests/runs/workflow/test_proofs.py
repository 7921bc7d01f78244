"""What a proof runs in, what is asked about it, and what is told to a model whose patch it does not hold for."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus, run_git, trust
from tests.prompts.stub import served

PATCH = "code.txt\n<<<<<<< SEARCH\ntotal = 1\n=======\ntotal = 2\n>>>>>>> REPLACE\n"


def _proved_by(*commands: list[str]) -> dict[str, Any]:
    proofs = [{"kind": "command", "summary": "prove it", "argv": argv} for argv in commands]
    return {"status": "done", "summary": "s", "actions": [{"kind": "patch", "summary": "two", "diff": PATCH}, *proofs]}


def _set_model(project: Path, url: str, allowed: list[str], **settings: Any) -> None:
    (project / "code.txt").write_text("first line\ntotal = 1\nlast line\n")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "begin")
    endpoint = {"url": url, "model": "m", "seconds": 20}
    model = {"workflow": {"specialists": {"executor": "model"}}, "prompts": {"endpoint": endpoint}}
    (project / ".nexus" / "settings.json").write_text(json.dumps({**model, **settings}))
    rule = json.dumps(allowed)
    (project / ".nexus" / "policy.md").write_text(f"---\nversion: 1\nallow:\n  - run: {rule}\n---\n")
    trust(project)


def test_a_proof_finds_what_the_settings_copy_and_make(nexus: Nexus, project: Path) -> None:
    (project / ".gitignore").write_text("tools/\nmade\n")
    (project / "tools").mkdir()
    (project / "tools" / "check").write_text("the tool\n")
    runs = {"copy": ["tools/**"], "setup": [["cp", "code.txt", "made"]]}
    with served(
        _proved_by(["grep", "-q", "the tool", "tools/check"]),
        _proved_by(["grep", "-q", "^total = 2$", "made"]),
    ) as stub:
        _set_model(project, stub.url, ["grep", "**"], runs=runs)
        told = [json.loads(nexus("run", "/exec correct the total", "--json").stdout) for _ in range(2)]

    assert [[(one["kind"], one["status"]) for one in run["actions"]] for run in told] == [[("patch", "waiting")]] * 2
    assert len(stub.asked) == 2


def test_a_command_that_cannot_run_and_the_lines_that_it_printed_are_told_before_a_person_is_asked(
    nexus: Nexus, project: Path
) -> None:
    (project / "check.sh").write_text("echo begins\necho 'the second of two' >&2\nexit 3\n")
    with served(_proved_by(["no-such-program"]), _proved_by(["sh", "check.sh"]), _proved_by()) as stub:
        _set_model(project, stub.url, ["sh", "check.sh"])
        done = nexus("run", "/exec correct the total", "--json")
        told = json.loads(done.stdout)

    assert [(one["kind"], one["status"]) for one in told["actions"]] == [("patch", "waiting")]
    assert "no-such-program cannot be run to prove it: there is no program no-such-program" in stub.prompts[1]
    assert "sh check.sh fails with status 3:\nbegins\nthe second of two\n" in stub.prompts[2]
    assert "\\x0a" not in done.stderr + stub.prompts[2]


def test_a_proof_shows_a_model_no_file_that_agents_may_not_read(nexus: Nexus, project: Path) -> None:
    (project / "server.pem").write_text("tulip\n")
    (project / "check.sh").write_text("cat server.pem\ncat code.txt\nexit 1\n")
    with served(_proved_by(["sh", "check.sh"]), _proved_by()) as stub:
        _set_model(project, stub.url, ["sh", "check.sh"])
        nexus("run", "/exec correct the total", "--json")

    assert "total = 2\nlast line" in stub.prompts[1]
    assert "tulip" not in stub.prompts[1]


def test_a_risky_proof_is_one_question_with_the_patch_whose_card_is_as_risky(nexus: Nexus, project: Path) -> None:
    (project / "check.sh").write_text("grep -q '^total = 2$' code.txt\n")
    with served(_proved_by(["sh", "check.sh"])) as stub:
        _set_model(project, stub.url, ["grep", "**"])
        run = json.loads(nexus("run", "/exec correct the total", "--json").stdout)["run"]["id"]
        (card,) = json.loads(nexus("review", run, "--json").stdout)["runs"][0]["actions"]
        shown = nexus("review", run).stdout
        done = json.loads(nexus.ok("approve", "--unseen", "--wait", run, "--json"))

    assert card["proofs"] == ["sh check.sh"]
    assert "risk 3 of 4" in shown
    assert "and runs sh check.sh, in the sandbox, to prove it" in " ".join(shown.replace("│", " ").split())
    assert [(one["kind"], one["status"]) for one in done["actions"]] == [("patch", "executed"), ("command", "executed")]
    assert done["run"]["status"] == "completed"


def test_a_risky_proof_of_a_patch_that_needs_no_answer_says_which_step_it_proves(nexus: Nexus, project: Path) -> None:
    (project / "TODO.md").write_text("# To do\n\n- [ ] Correct the total in code.txt\n  - `sh check.sh` passes\n")
    (project / "check.sh").write_text("grep -q '^total = 2$' code.txt\n")
    with served(_proved_by()) as stub:
        _set_model(project, stub.url, ["grep", "**"])
        policy = project / ".nexus" / "policy.md"
        policy.write_text(policy.read_text().replace("allow:\n", "allow:\n  - write: [code.txt]\n"))
        trust(project)
        told = json.loads(nexus("run", "--yes", "/plan-exec the steps in TODO.md", "--json").stdout)
        ended = nexus("approve", "--unseen", "--wait", told["run"]["id"], "--json")

    assert [(one["kind"], one["status"], one["summary"]) for one in told["actions"]] == [
        ("patch", "executed", "two"),
        ("command", "waiting", "Prove the committed step “Correct the total in code.txt”"),
    ]
    assert json.loads(ended.stdout)["run"]["status"] == "completed"


@pytest.mark.slow
def test_a_proof_runs_in_the_virtual_environment_that_it_names(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    venv = tmp_path / "venv"
    nexus_python = os.path.realpath(sys.executable)
    os.spawnl(os.P_WAIT, nexus_python, nexus_python, "-m", "venv", "--without-pip", str(venv))
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "helper.py").write_text("def check(text):\n    assert 'total = 2' in text\n")
    proof = [f"{venv}/bin/python", "-c", "import helper; helper.check(open('code.txt').read())"]
    with served(_proved_by(proof)) as stub:
        _set_model(project, stub.url, proof)
        done = nexus("run", "/exec correct the total", "--json")

    assert [one["status"] for one in json.loads(done.stdout)["actions"]] == ["waiting"], done.stderr
    assert len(stub.asked) == 1
