"""`JudgeContext`: the policy at one location, the gate's decision on one request, and the disk facts it depends on."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import NexusError
from gitnexus.base.file_stamp import file_stamp
from gitnexus.harness.model import HarnessEvent
from gitnexus.policy.command_folder import why_folder_matters
from gitnexus.policy.fast_policy import render_fast_policy
from gitnexus.policy.gate import GateContext, decide_request
from gitnexus.policy.grants import ApprovalGrant
from gitnexus.policy.in_force import PolicyInForce, read_policy_in_force
from gitnexus.policy.model import CommandRequest, GateDecision, Request
from gitnexus.policy.repo_key import repository_key
from gitnexus.policy.rules import FILE
from gitnexus.policy.signed import FILE as SIGNATURES
from gitnexus.policy.signed import GUARDED
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.home import home_folder
from gitnexus.state.layout import FORMAT_FILE
from gitnexus.state.locate import ProjectLocation
from gitnexus.toolgate.cache import PolicySources, path_below_top

if TYPE_CHECKING:
    from gitnexus.policy.denied_reads import DeniedReads

Verdict = Literal["", "allow", "ask", "deny"]
ORDER: dict[Verdict, int] = {"": 0, "allow": 0, "ask": 1, "deny": 2}
# A request must name a run before one exists; the digest that a person approves uses the real id.
_NO_RUN = "session"
_MOST_FOLDERS = 50


@dataclass(slots=True)
class CallFinding:
    """One finding about a call."""

    verdict: Verdict
    why: str
    rule: str = ""


class JudgeContext:
    """The policy at one location and the call to judge. `facts` are the disk facts that its answers depend on."""

    def __init__(self, state: State, event: HarnessEvent, location: ProjectLocation) -> None:
        self.state = state
        self.event = event
        self.location = location
        self.here: PolicyInForce = read_policy_in_force(state)
        self.role = role_of_call(event)
        self.facts: list[tuple[str, str, str]] = []
        self.last: GateDecision | None = None
        self.is_kept = True
        self._project = project_id_of(state.snapshot) or ""
        self._grants: list[ApprovalGrant] | None = None

    def note_folders(self, folders: Sequence[str]) -> None:
        """Add the folders that an answer depends on; with more than a few, the answer is not cached."""
        self.facts += [("stamp", folder, file_stamp(folder)) for folder in folders[:_MOST_FOLDERS]]
        self.is_kept = self.is_kept and len(folders) <= _MOST_FOLDERS

    def rest_on(self, reach: "DeniedReads") -> None:
        """Add what an answer about reading depends on; if that is more than folders, it is not cached."""
        self.note_folders(reach.looked_at)
        self.is_kept = self.is_kept and reach.is_lasting

    def common(self) -> dict[str, str]:
        """Return the fields that all requests of this call share."""
        return {"project": self._project, "run": _NO_RUN, "role": self.role}

    def relative_path(self, path: str) -> str | None:
        """Return a real path relative to the top of the worktree, None if it is outside."""
        return path_below_top(self.location, path)

    def decide_request(self, request: Request) -> CallFinding:
        """Return the gate's decision on a request, and remember the strictest one."""
        looks = isinstance(request, CommandRequest) and request.network == "none"
        folder = self._why_folder_matters(request) if isinstance(request, CommandRequest) else ""
        world = GateContext(worktree=self.location.top, executed_changed=not looks, folder=folder)
        found = decide_request(request, self.here.compiled, self._valid_grants(), world=world, now=utc_now())
        if self.last is None or ORDER[found.verdict] >= ORDER[self.last.verdict]:
            self.last = found
        why = found.why if found.verdict != "deny" else f"{found.why} (rule {found.rule})"
        return CallFinding(found.verdict, why, found.rule)

    def _why_folder_matters(self, request: CommandRequest) -> str:
        """Return why a command's folder is special, "" if it is not, and add the facts this depends on."""
        why, paths = why_folder_matters(request.argv, request.cwd, self.location.top)
        self.note_folders(paths)
        return why

    def policy_sources(self) -> PolicySources:
        """Return the cache key of the policy."""
        snapshot, paths = self.state.snapshot, (*GUARDED, SIGNATURES, "approvers")
        kept = [snapshot.read(path) or b"" for path in paths]
        own = [Path(path).read_bytes() if Path(path).is_file() else b"" for path in self.files()]
        # A request without a project is denied for that alone.
        plain = lambda: render_fast_policy(self.here.compiled) if self._project else None  # noqa: E731 - asked where it is kept
        return PolicySources([self._project.encode(), *kept, *own], (*paths, FORMAT_FILE), self.files(), plain)

    def files(self) -> list[str]:
        """Return the user's own files that the policy depends on."""
        pin = home_folder() / "trust" / f"{repository_key(self.state.repo.common_dir)}.json"
        return [str(home_folder() / FILE), str(home_folder() / "settings.json"), str(pin)]

    def _valid_grants(self) -> list[ApprovalGrant]:
        """Return the valid standing approvals; none if the approvers cannot be determined."""
        if self._grants is None:
            common = self.state.repo.common_dir
            self._grants = []
            if any((common / "nexus" / "grants").glob("*")):
                from gitnexus.policy.grant_store import GrantStore  # signatures: only needed with grants
                from gitnexus.policy.ledger import Ledger
                from gitnexus.policy.signed import SignedFiles

                with contextlib.suppress(NexusError):
                    approvers = SignedFiles(self.state.latest(), common).approvers_with_consent()
                    self._grants = [one for _, one in GrantStore(common).holding(approvers, Ledger(common), utc_now())]
        return self._grants


def role_of_call(event: HarnessEvent) -> str:
    """Return the role of a sub-agent without its plug-in prefix."""
    return event.agent.rpartition(":")[2].lower()
