"""What a run decides before it starts an agent's program: may its model be reached, and is a sign-in lent?"""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Nexus

# Stands in for Claude Code: says what it sees of its surroundings, in the form of that program.
FAKE = """\
#!/bin/sh
cat > /dev/null
seen=none
[ -f "$CLAUDE_CONFIG_DIR/.credentials.json" ] && seen=$(cat "$CLAUDE_CONFIG_DIR/.credentials.json")
printf '%s' "$ANTHROPIC_BASE_URL $seen" > seen.txt
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","num_turns":1}'
"""
POLICY = "---\nversion: 1\n{}\n---\n"


@pytest.fixture
def home(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the program in ~/.local/bin, and a sign-in."""
    program = sealed / ".local" / "bin" / "claude"
    program.parent.mkdir(parents=True)
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (sealed / ".claude").mkdir()
    (sealed / ".claude" / ".credentials.json").write_text("mine")
    return sealed


def seen(nexus: Nexus, *options: str) -> str:
    """Return what the agent saw, or why it was not started."""
    done = nexus("run", "look", "--agent", "claude", "--json", *options)
    found = json.loads(done.stdout)
    if done.returncode != 21:
        return f"{done.returncode} {found['error']['message']}"
    return Path(found["run"]["worktree"], "seen.txt").read_text()


def ruled(home: Path, text: str) -> None:
    (home / "nexus" / "policy.md").write_text(POLICY.format(text))


def test_a_sign_in_stays_at_home_unless_somebody_says_otherwise(nexus: Nexus, project: Path, home: Path) -> None:
    assert seen(nexus) == " none"
    assert seen(nexus, "--sign-in") == " mine"


def test_the_policy_lends_a_sign_in_or_denies_it(nexus: Nexus, project: Path, home: Path) -> None:
    ruled(home, "signin: allow")
    lent = seen(nexus)
    ruled(home, "signin: deny")

    assert lent == " mine"
    assert seen(nexus) == " none"
    assert seen(nexus, "--sign-in") == "20 the policy denies lending a sign-in"


def test_a_model_of_this_machine_is_named_for_a_run_or_for_all(nexus: Nexus, project: Path, home: Path) -> None:
    nexus_url = "http://127.0.0.1:4000"

    assert seen(nexus, "--model-url", nexus_url) == f"{nexus_url} none"
    with (home / ".gitconfig").open("a") as file:
        file.write('[nexus "claude"]\n\tmodelUrl = http://127.0.0.1:5000\n')
    assert seen(nexus) == "http://127.0.0.1:5000 none"
    assert seen(nexus, "--model-url", "http://me:" + "secret@host/").startswith("6 ")


def test_hosts_that_are_denied_or_asked_about_are_not_reached_by_starting_an_agent(
    nexus: Nexus, project: Path, home: Path
) -> None:
    ruled(home, 'deny:\n  - hosts: ["*.anthropic.com"]')
    denied = seen(nexus, "--network", "full")
    ruled(home, 'ask:\n  - hosts: ["*.anthropic.com"]')
    asked = seen(nexus)

    assert denied.startswith("20 claude would talk to api.anthropic.com:443, which user.deny.1 denies")
    assert asked.startswith("20 claude would talk to api.anthropic.com:443, which user.ask.1 asks about")
    assert seen(nexus, "--network", "full") == " none"
    assert seen(nexus, "--model-url", "http://127.0.0.1:4000") == "http://127.0.0.1:4000 none"
