"""What an agent asks for while it works: written down and judged at once, done if it may be, else left waiting."""

import hashlib
from collections.abc import Mapping
from typing import Any

from gitnexus.app.runact import bench_for
from gitnexus.app.runapproval import allowed
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import next_action, propose, request_of, role_at
from gitnexus.app.runready import refuse_unready
from gitnexus.app.runsteps import next_step, refuse_nobody, steps_of
from gitnexus.base.argvtext import drawn_words
from gitnexus.base.errors import Busy, Conflict, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.events.kinds import LONGEST_TEXT, short
from gitnexus.gateway.commanding import CommandDeed
from gitnexus.gateway.patching import checked
from gitnexus.git.private import private
from gitnexus.policy.model import HandoffRequest, Request
from gitnexus.policy.request import digest
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import holds_secret, known_values
from gitnexus.runs.model import ENDED
from gitnexus.state.format import id_of

# What waits is read by a person: more of it than this is noise.
MOST_WAITING = 50
MOST_QUESTIONS = 20
_LARGEST_MESSAGE = 256 * 1024


def patch(desk: RunDesk, text: bytes, summary: str, replaces: str = "", node: str = "") -> str:
    """Propose a unified diff on the run's branch; return the action. `replaces` is one that waits, and is given up.

    Raises: Invalid, Conflict, DeniedByPolicy.
    """
    bench = bench_for(desk)
    with desk.proposing(), private(desk.worktree) as git:
        waits = [name for name, one in desk.view().actions.items() if one.kind == "patch" and one.status == "waiting"]
        if replaces and replaces not in waits:
            raise NotFound(f"no patch {one_line(replaces, 40)} waits", hint=f"waiting: {', '.join(waits) or 'none'}")
        done = checked(git, tip_of(desk), text, bench.rule_on)
        git.keep(done.result_tree)
        role = role_at(desk, node or _node(desk))
        request = request_of(desk, done.base, done.base_tree, done.result_tree, done.changes, role)
        of = digest(request)
        known = next((name for name, one in desk.view().actions.items() if one.digest == of), None)
        if known is not None:
            return known
        left = [name for name in waits if name != replaces]
        if left:
            # Both are made from one commit, so a yes to the first would make the second unfit.
            raise Conflict(
                f"{left[0]} still waits for an answer, and this patch would not fit after it",
                hint=f"wait for it, or propose one patch for both with replaces: {left[0]}",
            )
        action = _proposed(desk, request, summary, replaces, node)
    return _done_if_allowed(desk, action)


def command(desk: RunDesk, argv: list[str], summary: str, given: Mapping[str, Any], node: str = "") -> str:
    """Propose one program with its arguments; return the action. Raises: Invalid, NotFound, DeniedByPolicy."""
    stdin = _bytes(given.get("stdin", ""))
    _refuse_secrets(argv)
    _refuse_secrets([f"{name}={value}" for name, value in given.get("env", {}).items()])
    _refuse_secrets([given.get("stdin", "")])
    deed = CommandDeed(
        bench_for(desk, role_at(desk, node or _node(desk))),
        argv,
        summary,
        cwd=given.get("cwd", ""),
        env=given.get("env", {}),
        stdin=stdin,
        limits={"seconds": given["seconds"]} if "seconds" in given else {},
        network=given.get("network", "none"),
    )
    with desk.proposing(), deed.prepared() as (request, _):
        if stdin:
            desk.artifacts.write("stdin", stdin, exact=True)
        action = _proposed(desk, request, summary or one_line(drawn_words(argv), 200), node=node)
    return _done_if_allowed(desk, action)


def handoff(desk: RunDesk, receiver: str, message: str, summary: str) -> str:
    """Propose that another role or agent goes on; return the action. Raises: Invalid, NotFound."""
    raw = mask(message, known_values()).encode("utf-8", "replace")
    if len(raw) > _LARGEST_MESSAGE:
        raise Invalid(f"the message is longer than {_LARGEST_MESSAGE // 1024} KiB")
    definition = desk.definition()
    steps = steps_of(desk, definition)
    present = next((node for node in steps if node.id == _node(desk)), steps[-1])
    refuse_nobody(desk.state, present, receiver)
    step = next_step(present, "next", receiver, message, desk.run.title)
    refuse_unready(desk.state, definition.changed(nodes=(step,)))
    sender = present.role or present.adapter
    with desk.proposing():
        made = sum(one.kind == "handoff" for one in desk.view().actions.values())
        if definition.budgets.handoffs and made >= definition.budgets.handoffs:
            raise Busy(f"this run has made its {made} handoffs", hint="finish, or ask a person")
        request = HandoffRequest(
            project=id_of(desk.state.snapshot) or "",
            run=desk.run.id,
            role=present.role,
            workflow=desk.run.definition,
            sender=sender,
            receiver=receiver,
            message_digest=f"sha256:{hashlib.sha256(raw).hexdigest()}",
        )
        kept = desk.artifacts.write("handoff.txt", raw, exact=True)
        action = _proposed(desk, request, summary or f"handoff to {one_line(receiver, 80)}")
        written = {"name": kept.name, "digest": kept.digest, "size": kept.size, "action": action}
        desk.log.append("artifact.written", present.adapter, written)
    return _done_if_allowed(desk, action)


def other(desk: RunDesk, request: Request, summary: str, node: str) -> str:
    """Propose what is neither a patch nor a command, for a node of a workflow; return the action."""
    with desk.proposing():
        action = _proposed(desk, request, summary, node=node)
    return _done_if_allowed(desk, action)


def ask(desk: RunDesk, text: str) -> str:
    """Write down a question to a person; return its name. The same open question again is that one. Raises: Busy."""
    words = short(mask(text, known_values()))
    if not words.strip():
        raise Invalid("say what you want to know")
    with desk.proposing():
        view = desk.view()
        _refuse_ended(desk)
        known = next((name for name, one in view.questions.items() if one == words), None)
        if known is not None:
            return known
        if len(view.questions) >= MOST_QUESTIONS:
            raise Busy(f"{len(view.questions)} questions are open already", hint="wait for an answer")
        number = sum(event.kind == "question.asked" for event in desk.log.read()) + 1
        body = {"question": f"q{number}", "text": words, **({"node": _node(desk)} if _node(desk) else {})}
        desk.log.append("question.asked", desk.agent_at(_node(desk)), body)
    return f"q{number}"


def answered(desk: RunDesk, text: str, question: str = "", by: str = "") -> str:
    """Answer an open question, the only one if none is named; return its name. Raises: NotFound, Invalid."""
    with desk.deciding():
        found = desk.view().questions
        if question not in found:
            if question or not found:
                raise NotFound(f"{desk.run.id} asks no question{' ' + question if question else ''}")
            if len(found) > 1:
                raise Invalid(f"{desk.run.id} asks {', '.join(found)}", hint="name one with --question")
            question = next(iter(found))
        if not text.strip() or len(text) > LONGEST_TEXT:
            raise Invalid(f"an answer has 1 to {LONGEST_TEXT} characters")
        body = {"question": question, "text": short(text), "by": short(by or desk.state.author.name, 200)}
        desk.log.append("question.answered", "user", body)
    return question


def _proposed(desk: RunDesk, request: Request, summary: str, replaces: str = "", node: str = "") -> str:
    _refuse_ended(desk)
    waiting = sum(one.status == "waiting" for one in desk.view().actions.values())
    if waiting >= MOST_WAITING:
        raise Busy(f"{waiting} actions wait for an answer already", hint="wait for a person")
    action = next_action(desk)
    propose(desk, action, request, mask(summary, known_values()), node or _node(desk), replaces=replaces)
    return action


def _refuse_ended(desk: RunDesk) -> None:
    status = desk.view().status
    if status in ENDED:
        raise Conflict(f"{desk.run.id} is {status}: nothing is proposed to it any more")


def _done_if_allowed(desk: RunDesk, action: str) -> str:
    if desk.view().actions[action].verdict == "allow":
        allowed(desk, action)
    return action


def _node(desk: RunDesk) -> str:
    """Return the step whose agent calls, or else the first that is at work."""
    return desk.caller or next((name for name, node in desk.view().nodes.items() if node.status == "started"), "")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as exc:
        raise Invalid("stdin holds half of a surrogate pair") from exc


def _refuse_secrets(words: list[str]) -> None:
    """Refuse what would be written into the log as it is, and is a secret."""
    if holds_secret(words):
        raise Invalid(
            "a word of the command looks like a secret, and would be kept in the log",
            hint="have the program read it from where it lies",
        )
