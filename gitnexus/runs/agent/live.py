"""A program that asks before each call: each becomes an action, is judged, and waits for a person if it has to.

Nothing hangs: who does not answer within the patience is not there, and the program is told no with the reason. What it
asked for is left waiting then like any other action, and whoever approves it later carries it out.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

from gitnexus.adapters.live.protocol import Asked, Heard, Wire
from gitnexus.adapters.protocol import Ended, Said
from gitnexus.app import runapproval, runproposal
from gitnexus.app.livecall import call_asked, command_of, patch_of, refused_part, settled
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.kinds import short
from gitnexus.git.config import of_the_user
from gitnexus.harness.calls import Shell
from gitnexus.policy.model import CommandRequest, Network, Request
from gitnexus.policy.request import digest
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_values
from gitnexus.sandbox.voice import Voice

PATIENCE = "nexus.approvalWait"
_PATIENCE = 300
_LOOK_EVERY = 0.2
# A program that never stops asking must not fill the disk.
_MOST_ASKED = 2000
_NOBODY = "nobody has answered yet; {} waits for a person, and is carried out when one says yes. Go on without it."


class Live:
    """Stands in for the reader of a program's lines: hears what it says, and answers what it asks."""

    def __init__(self, desk: RunDesk, node: str, harness: str, wire: Wire, network: Network) -> None:
        self.voice = Voice()
        self._desk, self._node, self._harness, self._wire, self._network = desk, node, harness, wire, network
        self._patience = _seconds(of_the_user(desk.repo, PATIENCE))
        self._asked = 0
        # By the program's id of a call: the action that it does now, and what lets go of it.
        self._doing: dict[str, tuple[str, bool, contextlib.ExitStack]] = {}

    def feed(self, line: bytes) -> list[Said]:
        """Take in a line; what is asked in it is answered when this returns. Raises: NexusError."""
        heard: Heard = self._wire.feed(line)
        if heard.out:
            self.voice.say(heard.out)
        for said in heard.said:
            if said.kind == "tool_result" and said.call in self._doing:
                self._done(said.call, said.ok, said.text)
        for asked in heard.asked:
            yes, why = self._answer(asked)
            self.voice.say(self._wire.answered(asked, yes=yes, why=why))
        if heard.over:
            self.voice.hang_up()
        return list(heard.said)

    def end(self, status: int) -> Ended:
        """Return how the program ended."""
        return self._wire.end(status)

    @contextlib.contextmanager
    def conversation(self) -> Iterator[None]:
        """Begin to talk, and let go of everything at the end."""
        try:
            self._taken_up()
            self.voice.say(self._wire.opened())
            yield
        finally:
            self.voice.close()
            for call in list(self._doing):
                self._done(call, False, "the program ended before it told what came of it")

    def _taken_up(self) -> None:
        """Bring the last patch into the files, if its program was killed between the yes and its writing."""
        done = [name for name, one in self._desk.view().actions.items() if one.kind == "patch" and one.commit]
        if done:
            runapproval.written(self._desk, done[-1])

    def _answer(self, asked: Asked) -> tuple[bool, str]:
        self._asked += 1
        if self._asked > _MOST_ASKED:
            return False, "too much was asked in this run; end here"
        try:
            return self._judged(asked)
        except NexusError as exc:
            # Never an action, so it has no name of its own; but somebody tried, and that is worth knowing.
            why = mask(f"{exc.message}; {exc.hint}" if exc.hint else exc.message, known_values())
            body = {"action": one_line(asked.tool, 80) or "unknown", "why": short(why, 1000)}
            self._desk.log.append("action.rejected", runproposal.GATE, body)
            return False, why

    def _judged(self, asked: Asked) -> tuple[bool, str]:
        call = call_asked(self._desk, self._harness, asked)
        if isinstance(call, dict):
            patch = patch_of(self._desk, call, runproposal.role_at(self._desk, self._node))
            if patch is None:
                return True, ""  # the files are so already
            names = ", ".join(change.path for change in patch.changes)
            return self._put(asked, patch, f"{asked.tool}: {names}")
        if (found := settled(self._desk, call)) is not None or not isinstance(call, Shell):
            return found or (False, "")
        command = command_of(self._desk, call, self._network, runproposal.role_at(self._desk, self._node))
        return self._put(asked, command, call.text or " ".join(call.argv))

    def _put(self, asked: Asked, request: Request, summary: str) -> tuple[bool, str]:
        """Propose a request, have it answered, and tell what that means for the program."""
        desk, words = self._desk, one_line(mask(summary, known_values()), 200)
        refused = refused_part(desk, request) if isinstance(request, CommandRequest) else None
        with contextlib.ExitStack() as held:
            with desk.proposing():
                known = self._known(request)
                action = known or runproposal.next_action(desk)
                if known is None or not desk.is_asked_live(action):
                    held.enter_context(desk.asking(action))
                if known is None:
                    runproposal.propose(desk, action, request, words, self._node, refused=refused)
            status = self._settled(action, held.close)
            if status == "approved":
                runapproval.handed_over(desk, action)
            if status in ("approved", "executed"):
                self._begun(asked, action, request, held.pop_all())
                return True, ""
        if status == "denied":
            one = desk.view().actions[action]
            return False, f"{one.by or 'git nexus'} said no to {action}{': ' + one.why if one.why else ''}"
        return False, _NOBODY.format(action)

    def _known(self, request: Request) -> str | None:
        """Return the action that a patch is already: the same trees are the same action. A command is done anew."""
        if isinstance(request, CommandRequest):
            return None
        of = digest(request)
        return next((name for name, one in self._desk.view().actions.items() if one.digest == of), None)

    def _settled(self, action: str, let_go: Callable[[], None]) -> str:
        """Return what became of an action: by the policy, by whoever sits here, or by somebody elsewhere in time."""
        desk = self._desk
        one = desk.view().actions[action]
        if one.verdict == "allow" and one.status == "approved":
            runapproval.allowed(desk, action)
        elif one.status == "waiting" and desk.reviewer is not None:
            desk.reviewer(desk, action)
        elif one.status == "waiting":
            self._waited(action)
        return runapproval.left_waiting(desk, action, let_go)

    def _waited(self, action: str) -> None:
        """Wait for somebody to answer in another terminal, as long as the patience is."""
        until = time.monotonic() + self._patience
        seen = -1
        while time.monotonic() < until:
            last = self._desk.log.last()
            if last is not None and last.seq != seen:
                seen = last.seq
                view = self._desk.view()
                if view.actions[action].status != "waiting" or view.status == "cancelled":
                    return
            time.sleep(_LOOK_EVERY)

    def _begun(self, asked: Asked, action: str, request: Request, held: contextlib.ExitStack) -> None:
        """The program does it now; a file that it asks us to write is written here."""
        is_command = isinstance(request, CommandRequest)
        if asked.performs or not asked.call:
            held.close()
            if not is_command:
                runapproval.written(self._desk, action)
            return
        if asked.call in self._doing:
            self._done(asked.call, False, "the program went on without telling what came of it")
        self._doing[asked.call] = (action, is_command, held)

    def _done(self, call: str, ok: bool, told: str) -> None:
        action, is_command, held = self._doing.pop(call)
        with held:
            if not is_command:
                runapproval.written(self._desk, action)
                return
            body = {"action": action, "tool": "cmd.run", "ok": ok, "result": short(mask(told, known_values()), 2000)}
            self._desk.log.append("tool.executed", self._desk.run.agent, body)


def _seconds(said: str | None) -> float:
    return float(said) if said and said.isdecimal() else _PATIENCE
