"""Lets a person edit a waiting patch: writes a draft file, and proposes the saved draft as a replacement."""

from pathlib import Path

from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid, NexusError
from gitnexus.base.files import replace_file
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.patching import check_patch
from gitnexus.git.merging import patch_between, recount_patch
from gitnexus.git.patchtext import LARGEST_PATCH
from gitnexus.git.private import private_git
from gitnexus.policy.model import PatchRequest
from gitnexus.policy.request import request_digest
from gitnexus.runs.actions.propose import (
    GATE,
    ProposalContext,
    find_action,
    judge_proposed_action,
    log_proposal,
    next_action_name,
    patch_request,
)
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.open_run import OpenRun

# Editors obey modelines in the first and last lines of a file: write those lines ourselves.
_ABOVE = """\
# {action} of {run}, as a patch. What you save is proposed in its place, and you are asked again.
#
# To leave out an added line, delete it. To keep a removed line, replace its - by a blank.
# To leave out a file, delete its part. Line counts after @@ need not be right.
# Lines that begin with # are dropped. If nothing else is left, nothing happens.
#
"""
_BELOW = "#\n" * 6


def write_draft(run: OpenRun, action: str) -> Path:
    """Return the draft file: the patch, or an earlier edit that was not accepted. Raises: NexusError."""
    file = _draft_file(run, action)
    if not file.exists():
        request = _waiting_patch_request(run, action)
        with private_git(run.repo) as git:
            patch = patch_between(git, request.base_tree, request.result_tree)
        if len(patch) > LARGEST_PATCH:
            raise Invalid("the patch is too large to be edited", hint="deny it, and say what should be otherwise")
        words = _ABOVE.format(action=action, run=run.record.id) + "\0" + _BELOW
        replace_file(file, patch.join(part.encode() for part in words.split("\0")), 0o600)
    return file


def propose_edited_patch(run: OpenRun, action: str, by: str = "") -> str:
    """Propose the draft of an action as its replacement; return the new action name.

    A rejected draft is kept; an empty or unchanged one is deleted. Raises: NexusError.
    """
    file = _draft_file(run, action)
    # Split at line feeds only: a carriage return does not end a line of a patch.
    text = b"\n".join(line for line in file.read_bytes().split(b"\n") if not line.startswith(b"#"))
    if not text.strip():
        file.unlink()
        raise Invalid("nothing is left of the patch, so nothing happened", hint="d denies it")
    with run.deciding(), run.proposing():
        request = _waiting_patch_request(run, action)
        try:
            edited = _edited_request(run, request, text)
            if request_digest(edited) == request_digest(request):
                file.unlink()
                raise Invalid("nothing was changed")
            known, name, who = find_action(run, action), next_action_name(run), by or run.state.author.name
            decision = run.make_gatekeeper(name).decide(edited)
            if decision.verdict == "deny":
                raise DeniedByPolicy(f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None)
        except NexusError as exc:
            if file.exists():  # log the attempt
                run.log.append(
                    "action.rejected", GATE, {"action": "edit", "why": shorten_text(f"{action}: {exc.message}")}
                )
            raise
        log_proposal(run, name, edited, known.summary, known.node, ProposalContext(replaces=action, by=who))
    file.unlink()
    return name


def _edited_request(run: OpenRun, request: PatchRequest, text: bytes) -> PatchRequest:
    """Return the request for an edited patch, built like one from an agent."""
    if len(text) > LARGEST_PATCH:
        raise Invalid(f"the patch is larger than {LARGEST_PATCH // 2**20} MiB")
    context = tool_context_for(run)
    with private_git(run.worktree) as git:
        patch = recount_patch(git, request.base_tree, text)
        if not patch:
            raise Invalid("what is left changes nothing", hint="d denies it")
        done = check_patch(git, request.base, patch, context.rule_on)
        git.keep(done.result_tree)
        return patch_request(run, done.base, done.base_tree, done.result_tree, done.changes, request.role)


def _waiting_patch_request(run: OpenRun, action: str) -> PatchRequest:
    known = find_action(run, action)
    if known.status != "waiting":
        raise Conflict(f"{action} is {known.status} by now", hint=f"git nexus replay {run.record.id} tells by whom")
    request = judge_proposed_action(run, action).request
    if not isinstance(request, PatchRequest):
        raise Invalid(
            f"{action} is not a patch, and only patches can be edited", hint="deny it, with what you want as the reason"
        )
    return request


def _draft_file(run: OpenRun, action: str) -> Path:
    return run.folder / f"edit-{action}.diff"
