"""A person's own edit of a patch that waits: what they save is a new proposal in its place, judged like any other."""

from pathlib import Path

from gitnexus.app.runact import bench_for
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import GATE, action_of, next_action, proposal, propose, request_of
from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid, NexusError
from gitnexus.base.files import replace
from gitnexus.events.kinds import short
from gitnexus.gateway.patching import checked
from gitnexus.git.merging import patch_between, recounted
from gitnexus.git.patchtext import LARGEST_PATCH
from gitnexus.git.private import private
from gitnexus.policy.model import PatchRequest
from gitnexus.policy.request import digest

# Editors obey words in the first and last lines of a file. Those are ours, not an agent's.
_ABOVE = """\
# {action} of {run}, as a patch. What you save is proposed in its place, and you are asked again.
#
# To leave a new line out, delete it. To keep a line that would go, put a blank in the place of its -.
# To leave a file out, delete all of its part. Line counts after @@ need not be right.
# Lines that begin with # are dropped. If nothing else is left, nothing happens.
#
"""
_BELOW = "#\n" * 6


def draft(desk: RunDesk, action: str) -> Path:
    """Return the file to edit: the patch, or an edit of it that was not taken before. Raises: NexusError."""
    file = _file(desk, action)
    if not file.exists():
        request = _waiting(desk, action)
        with private(desk.repo) as git:
            patch = patch_between(git, request.base_tree, request.result_tree)
        if len(patch) > LARGEST_PATCH:
            raise Invalid("the patch is too large to be edited", hint="deny it, and say what should be otherwise")
        words = _ABOVE.format(action=action, run=desk.run.id) + "\0" + _BELOW
        replace(file, patch.join(part.encode() for part in words.split("\0")), 0o600)
    return file


def taken(desk: RunDesk, action: str, by: str = "") -> str:
    """Propose what the draft of an action holds by now in its place; return the new action.

    What is not taken stays in the draft; what is empty or unchanged does not. Raises: NexusError.
    """
    file = _file(desk, action)
    # By line feeds alone: a carriage return in a line ends no line of a patch.
    text = b"\n".join(line for line in file.read_bytes().split(b"\n") if not line.startswith(b"#"))
    if not text.strip():
        file.unlink()
        raise Invalid("nothing is left of the patch, so nothing happened", hint="d denies it")
    with desk.deciding(), desk.proposing():
        request = _waiting(desk, action)
        try:
            edited = _made(desk, request, text)
            if digest(edited) == digest(request):
                file.unlink()
                raise Invalid("nothing was changed")
            known, name, who = action_of(desk, action), next_action(desk), by or desk.state.author.name
            decision = desk.keeper(name).decide(edited)
            if decision.verdict == "deny":
                raise DeniedByPolicy(f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None)
        except NexusError as exc:
            if file.exists():  # somebody tried, and that is worth knowing
                desk.log.append("action.rejected", GATE, {"action": "edit", "why": short(f"{action}: {exc.message}")})
            raise
        propose(desk, name, edited, known.summary, known.node, replaces=action, by=who)
    file.unlink()
    return name


def _made(desk: RunDesk, request: PatchRequest, text: bytes) -> PatchRequest:
    """Return the request of an edited patch. It takes the same way as one that an agent sends."""
    if len(text) > LARGEST_PATCH:
        raise Invalid(f"the patch is larger than {LARGEST_PATCH // 2**20} MiB")
    bench = bench_for(desk)
    with private(desk.worktree) as git:
        patch = recounted(git, request.base_tree, text)
        if not patch:
            raise Invalid("what is left changes nothing", hint="d denies it")
        done = checked(git, request.base, patch, bench.rule_on)
        git.keep(done.result_tree)
        return request_of(desk, done.base, done.base_tree, done.result_tree, done.changes, request.role)


def _waiting(desk: RunDesk, action: str) -> PatchRequest:
    known = action_of(desk, action)
    if known.status != "waiting":
        raise Conflict(f"{action} is {known.status} by now", hint=f"git nexus replay {desk.run.id} tells by whom")
    request = proposal(desk, action).request
    if not isinstance(request, PatchRequest):
        raise Invalid(f"{action} is no patch, and only patches are edited", hint="deny it, and say what you want")
    return request


def _file(desk: RunDesk, action: str) -> Path:
    return desk.folder / f"edit-{action}.diff"
