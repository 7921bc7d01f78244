"""The law at one place, and what the gate says to one request under it: what all judgements of a tool call share."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitnexus.app.gatememo import Law, Place, stamp
from gitnexus.app.harnessgate import below
from gitnexus.app.policy import PolicyHere, policy_here
from gitnexus.base.clock import now
from gitnexus.base.errors import NexusError
from gitnexus.harness.model import Happening
from gitnexus.policy.gate import World, decide
from gitnexus.policy.grants import Grant
from gitnexus.policy.model import CommandRequest, Decision, Request
from gitnexus.policy.plain import written_out
from gitnexus.policy.rules import FILE
from gitnexus.state import State
from gitnexus.state.format import id_of
from gitnexus.state.home import home_folder
from gitnexus.state.layout import FORMAT_FILE

Verdict = Literal["", "allow", "ask", "deny"]
ORDER: dict[Verdict, int] = {"": 0, "allow": 0, "ask": 1, "deny": 2}
# A request has to name a run before there is one; the digest that a person approves is made with the real name.
_NO_RUN = "session"
_MOST_FOLDERS = 50


@dataclass(slots=True)
class Finding:
    """One thing that was found about a call."""

    verdict: Verdict
    why: str
    rule: str = ""


class Court:
    """The law at one place, and what is asked of it. `facts` is what of the disk its answers rest on."""

    def __init__(self, state: State, told: Happening, place: Place) -> None:
        self.state = state
        self.told = told
        self.place = place
        self.here: PolicyHere = policy_here(state)
        self.role = role_of(told)
        self.facts: list[tuple[str, str, str]] = []
        self.last: Decision | None = None
        self.is_kept = True
        self._project = id_of(state.snapshot) or ""
        self._grants: list[Grant] | None = None

    def look_at(self, folders: Sequence[str]) -> None:
        """Note the folders that an answer rests on; of more than a few the answer is not kept."""
        self.facts += [("stamp", folder, stamp(folder)) for folder in folders[:_MOST_FOLDERS]]
        self.is_kept = self.is_kept and len(folders) <= _MOST_FOLDERS

    def common(self) -> dict[str, str]:
        """Return what every request of this call says."""
        return {"project": self._project, "run": _NO_RUN, "role": self.role}

    def below(self, path: str) -> str | None:
        """Return a real path from the top of the worktree, None for one outside."""
        return below(self.place, path)

    def decided(self, request: Request) -> Finding:
        """Return what the gate says to a request, and remember the strictest."""
        looks = isinstance(request, CommandRequest) and request.network == "none"
        folder = self._folder(request) if isinstance(request, CommandRequest) else ""
        world = World(worktree=self.place.top, executed_changed=not looks, folder=folder)
        found = decide(request, self.here.law, self._granted(), world=world, now=now())
        if self.last is None or ORDER[found.verdict] >= ORDER[self.last.verdict]:
            self.last = found
        why = found.why if found.verdict != "deny" else f"{found.why} (rule {found.rule})"
        return Finding(found.verdict, why, found.rule)

    def _folder(self, request: CommandRequest) -> str:
        """Return why the folder of a command is no plain one, and note what that rests on."""
        from gitnexus.app.judgefolder import why_folder_matters  # only commands pay

        why, paths = why_folder_matters(request.argv, request.cwd, self.place.top)
        self.look_at(paths)
        return why

    def law(self) -> Law:
        """Return the law to remember answers under."""
        from gitnexus.policy.signed import FILE as SIGNATURES
        from gitnexus.policy.signed import GUARDED

        snapshot, paths = self.state.snapshot, (*GUARDED, SIGNATURES, "approvers")
        kept = [snapshot.read(path) or b"" for path in paths]
        own = [Path(path).read_bytes() if Path(path).is_file() else b"" for path in self.files()]
        # A request that belongs to no project is refused for that alone.
        plain = lambda: written_out(self.here.law) if self._project else None  # noqa: E731 - asked where it is kept
        return Law([self._project.encode(), *kept, *own], (*paths, FORMAT_FILE), self.files(), plain)

    def files(self) -> list[str]:
        """Return the files of the user's own that the law depends on."""
        from gitnexus.policy.place import mark

        pin = home_folder() / "trust" / f"{mark(self.state.repo.common_dir)}.json"
        return [str(home_folder() / FILE), str(home_folder() / "settings.json"), str(pin)]

    def _granted(self) -> list[Grant]:
        """Return the standing approvals that hold; none where nobody can tell whose word counts."""
        if self._grants is None:
            common = self.state.repo.common_dir
            self._grants = []
            if any((common / "nexus" / "grants").glob("*")):
                from gitnexus.app.standing import Grants  # the signatures: only who has one pays
                from gitnexus.policy.ledger import Ledger
                from gitnexus.policy.signed import Signed

                with contextlib.suppress(NexusError):
                    approvers = Signed(self.state.latest(), common).consented()
                    self._grants = [one for _, one in Grants(common).holding(approvers, Ledger(common), now())]
        return self._grants


def role_of(told: Happening) -> str:
    """Return the role of a sub-agent, without the name of the plug-in that brought it."""
    return told.agent.rpartition(":")[2].lower()
