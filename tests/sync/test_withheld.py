"""A patch that was edited because of a secret: another clone approves what took its place."""

import json

import pytest

from gitnexus.projects.open_state import open_state
from gitnexus.runs.actions.edit import propose_edited_patch, write_draft
from gitnexus.runs.open_run import open_run
from tests.attacks.test_storage import SECRETS
from tests.conftest import Nexus, run_git
from tests.rows import few_fast
from tests.sync.two import Clone

BACKWARDS = SECRETS[0][::-1]


@pytest.mark.parametrize("pushed_before", few_fast([True, False]))
def test_what_replaces_a_patch_with_a_secret_is_approved_in_another_clone(
    ada: Clone, bob: Clone, pushed_before: bool
) -> None:
    script = f"printf %s {BACKWARDS} | rev > made.txt"
    run = json.loads(Nexus(ada.place)("run", "--json", "--", "sh", "-c", script).stdout)["run"]["id"]
    if pushed_before:
        ada.sync()
        bob.sync()
    state = open_state(ada.place)
    opened = open_run(state, run)
    draft = write_draft(opened, "a1")
    draft.write_text(draft.read_text().replace(SECRETS[0], "harmless"))
    propose_edited_patch(opened, "a1")
    state.close()
    Nexus(ada.place).ok("checkpoint", run)
    ada.sync()
    bob.sync()

    Nexus(bob.place).ok("approve", run, "--unseen")

    assert "harmless" in run_git(bob.place, "show", f"nexus/{run}:made.txt")
