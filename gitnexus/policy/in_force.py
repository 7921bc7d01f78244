"""The policy of a project: the user's file and the project's as one law, and changes to either."""

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from gitnexus.base import files
from gitnexus.base.errors import BadUsage, DeniedByPolicy, Invalid, NotFound
from gitnexus.policy import edit
from gitnexus.policy.gate import Used, World, decide
from gitnexus.policy.law import Law, law_of, unreadable_under
from gitnexus.policy.model import CommandRequest, Decision, Kind, Level, Mode, Network, Request, Verdict
from gitnexus.policy.request import digest
from gitnexus.policy.rules import FILE, Layer, Policy, Rule, policy_of
from gitnexus.policy.signed import Signed
from gitnexus.state.format import id_of
from gitnexus.state.home import home_folder
from gitnexus.state.settings import user_section
from gitnexus.state.snapshot import Snapshot
from gitnexus.state.store import Change, State

if TYPE_CHECKING:
    from gitnexus.app.open import Nexus  # who only asks the law opens no project

T = TypeVar("T")


@dataclass(frozen=True)
class PolicyHere:
    """What both files say, and the law that comes of it."""

    law: Law
    user: Policy
    project: Policy
    trusted: bool
    has_project: bool

    @property
    def ignored(self) -> tuple[Rule, ...]:
        """The rules that do not count, because nobody trusted the project's file."""
        return tuple(rule for rule in self.project.rules if rule not in self.law.rules)


def user_file() -> Path:
    """Return where the user's own policy lies or would lie."""
    return home_folder() / FILE


def policy_here(state: State) -> PolicyHere:
    """Return the policy in force. Raises: Invalid for a file that is not one; then nothing is allowed."""
    snapshot = state.latest()
    mine, theirs = _user_raw(), snapshot.read(FILE)
    user = policy_of(mine, "user", str(user_file()))
    project = policy_of(theirs or b"", "project", f".nexus/{FILE}")
    signed = theirs is not None and Signed(snapshot, state.repo.common_dir).standing(FILE, theirs).trusted
    law = law_of(user, project, trusted=signed, bypass=bypass_enabled())
    return PolicyHere(law, user, project, signed, theirs is not None)


def bypass_enabled() -> bool:
    """True if the user's own settings switch the mode bypass on. Raises: Invalid."""
    given = user_section("policy")
    for key in given:
        if key != "bypass":
            raise Invalid(f"settings: policy.{key} is not known", hint="there is policy.bypass, true or false")
    if not isinstance(given.get("bypass", False), bool):
        raise Invalid("settings: policy.bypass should be true or false")
    return given.get("bypass") is True


def add_rule(nexus: "Nexus", layer: Layer, verdict: Verdict, row: dict[str, Any]) -> Rule:
    """Add a rule to one of the two files. Raises: Invalid, Failed."""
    return _changed(nexus, layer, lambda raw, where: edit.added(raw, verdict, row, layer, where), f"add to {verdict}")


def remove_rule(nexus: "Nexus", rule_id: str) -> Rule:
    """Remove a rule by its name or number. Raises: NotFound, Failed."""
    layer = next((one for one in get_args(Layer) if one == rule_id.partition(".")[0]), None)
    if layer is None:
        raise NotFound(f"there is no rule {rule_id}", hint="git nexus policy show lists them; what is built in stays")
    return _changed(nexus, layer, lambda raw, where: edit.removed(raw, rule_id, layer, where), f"remove {rule_id}")


def set_mode(nexus: "Nexus", layer: Layer, mode: Mode) -> None:
    """Write another mode into one of the two files. Raises: DeniedByPolicy, Invalid, Failed."""
    if mode == "bypass" and (layer == "project" or not bypass_enabled()):
        raise DeniedByPolicy(
            "the mode bypass asks nobody about anything, so it is not enabled by a command",
            hint=f'set {{"policy": {{"bypass": true}}}} in {home_folder() / "settings.json"}, then use --user',
        )
    _changed(nexus, layer, lambda raw, where: (edit.with_mode(raw, mode, layer, where), None), f"mode {mode}")


def replace_text(nexus: "Nexus", layer: Layer, before: bytes, after: bytes) -> None:
    """Put an edited file in place of what was opened. Raises: Invalid, Conflict."""
    from gitnexus.base.errors import Conflict

    def replaced(raw: bytes, where: str) -> tuple[bytes, None]:
        if raw != before:
            raise Conflict(f"{where} changed while it was edited", hint="edit it again")
        policy_of(after, layer, where)
        return after, None

    _changed(nexus, layer, replaced, "edit")


def text_of(nexus: "Nexus", layer: Layer) -> bytes:
    """Return one of the two files, empty if it is not there."""
    return _user_raw() if layer == "user" else nexus.state.latest().read(FILE) or b""


def _changed(nexus: "Nexus", layer: Layer, change: Callable[[bytes, str], tuple[bytes, T]], why: str) -> T:
    if layer == "user":
        after, value = change(_user_raw(), str(user_file()))
        files.replace(user_file(), after, 0o600)
        return value

    def decided(snapshot: Snapshot) -> Change[T]:
        written, found = change(snapshot.read(FILE) or b"", f".nexus/{FILE}")
        return Change({FILE: written}, f"policy: {why}", found)

    return nexus.state.transact(decided)


def _user_raw() -> bytes:
    try:
        return user_file().read_bytes()
    except FileNotFoundError:
        return b""


@dataclass(frozen=True)
class Asked:
    """What somebody wants explained."""

    argv: tuple[str, ...] = ()
    patch: bytes | None = None
    mode: Mode | None = None
    role: str = ""
    network: Network = "none"
    sandbox: Level = "L1"


@dataclass(frozen=True)
class Explained:
    """What the gate says; `digest` is that of the request, None for a patch that does not come as far as the gate."""

    kind: Kind
    decision: Decision
    digest: str | None = None


def explained(nexus: "Nexus", here: PolicyHere, asked: Asked, cwd: Path) -> Explained:
    """Return what the gate says to what was asked about. Raises: BadUsage, NotFound, Conflict, Invalid."""
    if (asked.patch is None) == (not asked.argv):
        raise BadUsage("say a command after --, or --patch FILE", hint="git nexus policy explain -- git status")
    if asked.patch is None:
        return _judged(nexus, here, asked, _command(nexus, asked, cwd))
    return _patch(nexus, here, asked, asked.patch)


def _judged(nexus: "Nexus", here: PolicyHere, asked: Asked, request: Request) -> Explained:
    top = str(nexus.repo.worktree or nexus.repo.place)
    world = World(worktree=top, executed_changed=asked.sandbox == "L0", used=Used())
    return Explained(request.kind, decide(request, here.law, mode=asked.mode, world=world), digest(request))


def _command(nexus: "Nexus", asked: Asked, cwd: Path) -> CommandRequest:
    place = os.path.realpath(cwd)
    found = shutil.which(asked.argv[0], path=os.defpath if not os.environ.get("PATH") else None)
    if "/" in asked.argv[0]:
        found = str(Path(place, asked.argv[0]))
    program = os.path.realpath(found) if found else ""
    held = Path(program).read_bytes() if program and Path(program).is_file() else b""
    return CommandRequest(
        **_common(nexus, asked),
        files=None,
        argv=asked.argv,
        # What is not installed can still be judged: it would be looked for where programs are.
        program=program or f"/usr/bin/{asked.argv[0]}",
        program_digest=f"sha256:{hashlib.sha256(held).hexdigest()}",
        cwd=place,
        base="",
        env={},
        limits={},
        network=asked.network,
        sandbox=asked.sandbox,
    )


def _patch(nexus: "Nexus", here: PolicyHere, asked: Asked, patch: bytes) -> Explained:
    # The gateway and git's private folder: only a patch pays.
    from gitnexus.gateway.bench import ruled
    from gitnexus.gateway.patching import Refused, checked, request_of
    from gitnexus.git.private import private
    from gitnexus.git.revisions import head_of

    rule_on = partial(ruled, unreadable_under(here.law))
    try:
        with private(nexus.repo) as git:
            done = checked(git, head_of(nexus.repo, git), patch, rule_on)
    except (DeniedByPolicy, Refused) as exc:
        rule = str(exc.context["rule"])
        instead = f"git nexus policy remove {rule}" if rule.startswith(get_args(Layer)) else "nothing: this is built in"
        decision = Decision(verdict="deny", rule=rule, why=exc.message, risk=4, tags=(), instead=instead)
        return Explained("patch", decision)
    return _judged(nexus, here, asked, request_of(done, **_common(nexus, asked)))


def _common(nexus: "Nexus", asked: Asked) -> dict[str, str]:
    return {"project": id_of(nexus.state.snapshot) or "unknown", "run": "explain", "role": asked.role}
