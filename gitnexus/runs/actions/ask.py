"""Takes an agent's patches, commands, handoffs and questions, has the gate judge them, and logs them as actions."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from gitnexus.base.argvtext import format_words
from gitnexus.base.errors import Busy, Conflict, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.events.kinds import LONGEST_TEXT, shorten_text
from gitnexus.gateway.commanding import CommandAction
from gitnexus.gateway.patching import check_any_patch
from gitnexus.git.private import private_git
from gitnexus.policy.model import HandoffRequest, Request
from gitnexus.policy.request import request_digest
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import holds_secret, known_secret_values
from gitnexus.runs.actions.approve import execute_if_allowed
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.propose import ProposalContext, log_proposal, next_action_name, patch_request, role_of_node
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.model import ENDED
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.preflight import require_startable_agents
from gitnexus.runs.steps import handoff_step, refuse_unknown_receiver, steps_of
from gitnexus.state.format import project_id_of

# Limit of waiting actions: a person has to read them.
MOST_WAITING = 50
MOST_QUESTIONS = 20
_LARGEST_MESSAGE = 256 * 1024


def propose_patch(
    run: OpenRun, text: bytes, summary: str, replaces: str = "", node: str = "", proofs: Sequence[str] = ()
) -> str:
    """Propose a change of files on the run's branch, in any form that models write; return the action name.

    `replaces` names a waiting action to withdraw; `proofs` are commands that a yes to it also approves.

    Raises: Invalid, Conflict, DeniedByPolicy.
    """
    context = tool_context_for(run)
    with run.proposing(), private_git(run.worktree) as git:
        waits = [name for name, one in run.view().actions.items() if one.kind == "patch" and one.status == "waiting"]
        if replaces and replaces not in waits:
            raise NotFound(f"no patch {one_line(replaces, 40)} waits", hint=f"waiting: {', '.join(waits) or 'none'}")
        done = check_any_patch(git, branch_tip(run), text, context.rule_on)
        git.keep(done.result_tree)
        role = role_of_node(run, node or calling_node(run))
        request = patch_request(run, done.base, done.base_tree, done.result_tree, done.changes, role)
        of = request_digest(request)
        known = next((name for name, one in run.view().actions.items() if one.digest == of), None)
        if known is not None:
            return known
        left = [name for name in waits if name != replaces]
        if left:
            # Both are based on the same commit, so approving the first would make the second outdated.
            raise Conflict(
                f"{left[0]} still waits for an answer, and this patch would not fit after it",
                hint=f"wait for it, or propose one patch for both with replaces: {left[0]}",
            )
        action = _propose_next_action(run, request, summary, replaces, node, proofs)
    return _execute_if_allowed(run, action)


def propose_command(run: OpenRun, argv: list[str], summary: str, given: Mapping[str, Any], node: str = "") -> str:
    """Propose a program with arguments; return the action name. Raises: Invalid, NotFound, DeniedByPolicy."""
    stdin = _encode_stdin(given.get("stdin", ""))
    _refuse_secrets(argv)
    _refuse_secrets([f"{name}={value}" for name, value in given.get("env", {}).items()])
    _refuse_secrets([given.get("stdin", "")])
    node_action = CommandAction(
        tool_context_for(run, role_of_node(run, node or calling_node(run))),
        argv,
        summary,
        cwd=given.get("cwd", ""),
        env=given.get("env", {}),
        stdin=stdin,
        limits={"seconds": given["seconds"]} if "seconds" in given else {},
        network=given.get("network", "none"),
        reads=given.get("reads"),
        writes=given.get("writes"),
    )
    with run.proposing(), node_action.prepared() as (request, _):
        if stdin:
            run.artifacts.write("stdin", stdin, exact=True)
        action = _propose_next_action(run, request, summary or one_line(format_words(argv), 200), node=node)
    return _execute_if_allowed(run, action)


def propose_handoff(run: OpenRun, receiver: str, message: str, summary: str) -> str:
    """Propose that another role or agent continues; return the action name. Raises: Invalid, NotFound."""
    raw = mask(message, known_secret_values()).encode("utf-8", "replace")
    if len(raw) > _LARGEST_MESSAGE:
        raise Invalid(f"the message is longer than {_LARGEST_MESSAGE // 1024} KiB")
    definition = run.definition()
    steps = steps_of(run, definition)
    present = next((node for node in steps if node.id == calling_node(run)), steps[-1])
    refuse_unknown_receiver(run.state, present.adapter, receiver)
    step = handoff_step(present, "next", receiver, message, run.record.title)
    require_startable_agents(run.state, definition.changed(nodes=(step,)))
    sender = present.role or present.adapter
    with run.proposing():
        made = sum(one.kind == "handoff" for one in run.view().actions.values())
        if definition.budgets.handoffs and made >= definition.budgets.handoffs:
            raise Busy(f"this run has made its {made} handoffs", hint="finish, or ask a person")
        request = HandoffRequest(
            project=project_id_of(run.state.snapshot) or "",
            run=run.record.id,
            role=present.role,
            workflow=run.record.definition,
            sender=sender,
            receiver=receiver,
            message_digest=f"sha256:{hashlib.sha256(raw).hexdigest()}",
        )
        kept = run.artifacts.write("handoff.txt", raw, exact=True)
        action = _propose_next_action(run, request, summary or f"handoff to {one_line(receiver, 80)}")
        written = {"name": kept.name, "digest": kept.digest, "size": kept.size, "action": action}
        run.log.append("artifact.written", present.adapter, written)
    return _execute_if_allowed(run, action)


def propose_request(run: OpenRun, request: Request, summary: str, node: str) -> str:
    """Propose any other request for a workflow node; return the action name."""
    with run.proposing():
        action = _propose_next_action(run, request, summary, node=node)
    return _execute_if_allowed(run, action)


def ask_question(run: OpenRun, text: str) -> str:
    """Log a question to a person; return its name. An equal open question is reused. Raises: Busy."""
    words = shorten_text(mask(text, known_secret_values()))
    if not words.strip():
        raise Invalid("write the question")
    with run.proposing():
        view = run.view()
        refuse_run_that_ended(run)
        known = next((name for name, one in view.questions.items() if one == words), None)
        if known is not None:
            return known
        if len(view.questions) >= MOST_QUESTIONS:
            raise Busy(f"{len(view.questions)} questions are open already", hint="wait for an answer")
        number = sum(event.kind == "question.asked" for event in run.log.read()) + 1
        body = {
            "question": f"q{number}",
            "text": words,
            **({"node": calling_node(run)} if calling_node(run) else {}),
        }
        run.log.append("question.asked", run.agent_of_node(calling_node(run)), body)
    return f"q{number}"


def answer_question(run: OpenRun, text: str, question: str = "", by: str = "") -> str:
    """Answer an open question, by default the only one; return its name. Raises: NotFound, Invalid."""
    with run.deciding():
        found = run.view().questions
        if question not in found:
            if question or not found:
                raise NotFound(f"{run.record.id} asks no question{' ' + question if question else ''}")
            if len(found) > 1:
                raise Invalid(f"{run.record.id} asks {', '.join(found)}", hint="name one with --question")
            question = next(iter(found))
        if not text.strip() or len(text) > LONGEST_TEXT:
            raise Invalid(f"an answer has 1 to {LONGEST_TEXT} characters")
        body = {"question": question, "text": shorten_text(text), "by": shorten_text(by or run.state.author.name, 200)}
        run.log.append("question.answered", "user", body)
    return question


def _propose_next_action(
    run: OpenRun, request: Request, summary: str, replaces: str = "", node: str = "", proofs: Sequence[str] = ()
) -> str:
    refuse_run_that_ended(run)
    waiting = sum(one.status == "waiting" for one in run.view().actions.values())
    if waiting >= MOST_WAITING and not replaces:  # a replacement does not add to the count
        raise Busy(f"{waiting} actions wait for an answer already", hint="wait for a person")
    action = next_action_name(run)
    words = mask(summary, known_secret_values())
    context = ProposalContext(replaces, proofs=proofs)
    log_proposal(run, action, request, words, node or calling_node(run), context)
    return action


def refuse_run_that_ended(run: OpenRun) -> None:
    status = run.view().status
    if status in ENDED:
        raise Conflict(f"{run.record.id} is {status}: it accepts no more proposals")


def _execute_if_allowed(run: OpenRun, action: str) -> str:
    if run.view().actions[action].verdict == "allow":
        execute_if_allowed(run, action)
    return action


def calling_node(run: OpenRun) -> str:
    """Return the step of the calling agent, else the first running step."""
    return run.caller or next((name for name, node in run.view().nodes.items() if node.status == "started"), "")


def _encode_stdin(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise Invalid("stdin holds an unpaired surrogate") from exc


def _refuse_secrets(words: list[str]) -> None:
    """Raise an error if a word that would be logged contains a secret."""
    if holds_secret(words):
        raise Invalid(
            "a word of the command looks like a secret, and would be stored in the log",
            hint="let the program read it from its file",
        )
