"""What a program's tool call comes to under the law in force: requests for the gate, and the strictest of its answers.

Nothing is executed here, and nothing is confined: the program does it itself, as the person who started it. So a
command is judged as one without a sandbox and with the network, unless it is one of those that only look.
"""

import contextlib
import os
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gitnexus.app.gatememo import Known, Law, Memo, Place, nowhere, program_of
from gitnexus.app.harnessgate import below, meant, new_text, no_opinion
from gitnexus.app.keepers import open_state
from gitnexus.app.policy import PolicyHere, policy_here
from gitnexus.base.clock import now
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.git import discover
from gitnexus.harness import shell
from gitnexus.harness.calls import Call, Mcp, Network, Patched, Reads, Shell, Subagent, Unknown, Writes
from gitnexus.harness.model import Answer, Happening
from gitnexus.harness.patchform import BEGIN, touched
from gitnexus.harness.writers import effect
from gitnexus.policy.builtin import secret_by
from gitnexus.policy.gate import World, decide
from gitnexus.policy.grants import Grant
from gitnexus.policy.law import why_unreadable
from gitnexus.policy.model import (
    Change,
    CommandRequest,
    Decision,
    HandoffRequest,
    NetworkRequest,
    PatchRequest,
    Request,
)
from gitnexus.policy.paths import enters_git
from gitnexus.policy.plain import written_out
from gitnexus.policy.programs import only_looks
from gitnexus.policy.rules import FILE
from gitnexus.state import State
from gitnexus.state.format import id_of
from gitnexus.state.home import home_folder

Verdict = Literal["", "allow", "ask", "deny"]
_ORDER: dict[Verdict, int] = {"": 0, "allow": 0, "ask": 1, "deny": 2}
# A request has to name a run before there is one; the digest that a person approves is made with the real name.
_NO_RUN = "session"


@dataclass(slots=True)
class Finding:
    """One thing that was found about a call."""

    verdict: Verdict
    why: str
    rule: str = ""


@dataclass(slots=True)
class Judged:
    """What the whole call comes to: the strictest finding, the request that a person would approve, and disk facts."""

    finding: Finding
    request: Request | None = None
    facts: list[tuple[str, str, str]] = field(default_factory=list)


def answered(told: Happening, call: Call, place: Place, memo: Memo, key: str) -> Answer:
    """Return the answer to a call that nobody remembers. Raises: NexusError, OSError."""
    state = open_state(discover(Path(place.top)))
    try:
        tip = memo.tip()
        state.required()
        bench = Bench(state, told, place)
        found = bench.judged(call)
        verdict, why = found.finding.verdict, found.finding.why
        if verdict != "ask":
            if key and tip and tip == state.snapshot.commit and not found.finding.rule.startswith("grant."):
                memo.keep(key, bench.law(), tip, Known(verdict, why, tuple(found.facts)))
            return no_opinion(told) if verdict == "" else Answer(verdict=verdict, reason=why)
        from gitnexus.app.sessions import asked  # only what asks is written down

        return asked(state, told, call, place, found.request, bench.decision_of(found))
    finally:
        state.close()


class Bench:
    """The law at one place, and what is asked of it."""

    def __init__(self, state: State, told: Happening, place: Place) -> None:
        self._state = state
        self._told = told
        self._place = place
        self._here: PolicyHere = policy_here(state)
        self._project = id_of(state.snapshot) or ""
        self._role = role_of(told)
        self._capabilities: tuple[str, ...] | None = None
        self._grants: list[Grant] | None = None
        self._facts: list[tuple[str, str, str]] = []
        self._last: Decision | None = None

    def judged(self, call: Call) -> Judged:
        """Return what a call comes to."""
        limited = self._limited(call)
        findings, request = ([limited], None) if limited is not None else self._found(call)
        worst = max(findings, key=lambda one: _ORDER[one.verdict], default=Finding("", ""))
        if worst.verdict == "ask" and self._is_of_the_run(call):
            worst = Finding("", "")
        elif worst.verdict == "ask" and self._asks_nobody:
            worst = Finding("allow", "the mode is bypass, and nothing denies it", "mode.bypass")
        return Judged(worst, request, self._facts)

    def _found(self, call: Call) -> tuple[list[Finding], Request | None]:
        """Return all that is found about a call, and what a person would approve."""
        request: Request | None = None
        findings: list[Finding] = []
        match call:
            case Reads():
                findings = [*self._reading(call)]
            case Writes() | Patched():
                request = self._patch_of(call)
                findings = [*self._unplanned(), *self._writing(request), *self._outside(call)]
            case Shell():
                findings, request = self._shell(call)
            case Network():
                request = NetworkRequest(**self._common(), hosts=call.hosts, purpose=one_line(self._told.tool, 80))
                findings = [self._decided(request)]
            case Subagent():
                findings = [self._handed(call)] if call.role else []
            case Mcp():
                findings = [self._served(call)]
            case Unknown():
                findings = [Finding("ask", f"nobody knows what it does: {call.why}")]
            case _:
                pass
        return findings, request

    @property
    def _asks_nobody(self) -> bool:
        return self._here.law.mode == "bypass" and self._here.law.bypass

    def _is_of_the_run(self, call: Call) -> bool:
        """True for what is written in the worktree of a run: it is proposed as its patch, and judged then."""
        if not self._place.run or not isinstance(call, (Writes, Patched)):
            return False
        return not any(self._outside(call))

    def decision_of(self, found: Judged) -> Decision:
        """Return the gate's answer to what is asked about, in the words of the strictest finding."""
        last = self._last
        rule = found.finding.rule or "harness"
        risk, tags = (last.risk, last.tags) if last else (2, ())
        return Decision(verdict="ask", rule=rule, why=found.finding.why, risk=risk, tags=tags)

    def law(self) -> Law:
        """Return the law to remember answers under."""
        from gitnexus.policy.signed import FILE as SIGNATURES
        from gitnexus.policy.signed import GUARDED

        snapshot = self._state.snapshot
        kept = [snapshot.read(path) or b"" for path in (*GUARDED, SIGNATURES, "approvers")]
        own = [Path(path).read_bytes() if Path(path).is_file() else b"" for path in self.files()]
        # A request that belongs to no project is refused for that alone.
        plain = lambda: written_out(self._here.law) if self._project else None  # noqa: E731 - asked where it is kept
        return Law([self._project.encode(), *kept, *own], self.files(), plain)

    def files(self) -> list[str]:
        """Return the files of the user's own that the law depends on."""
        from gitnexus.policy.place import mark

        pin = home_folder() / "trust" / f"{mark(self._state.repo.common_dir)}.json"
        return [str(home_folder() / FILE), str(home_folder() / "settings.json"), str(pin)]

    # What a role may not do.

    def _limited(self, call: Call) -> Finding | None:
        held = self._held()
        if not held or isinstance(call, Reads):
            return None
        from gitnexus.catalog.effective import denied
        from gitnexus.catalog.harnesses import HARNESSES

        harness = HARNESSES.get(self._told.harness)
        tools = denied(self._catalog, held, harness) if harness else ()
        if self._told.tool in tools:
            return Finding("deny", f"the role {self._role} may not use {one_line(self._told.tool, 60)}", "capability")
        if "no_file_edit" in held and isinstance(call, Shell) and _writes(call):
            return Finding("deny", f"the role {self._role} edits no files, by a command neither", "capability")
        return None

    def _held(self) -> tuple[str, ...]:
        if self._capabilities is None:
            self._capabilities = ()
            if self._role:
                from gitnexus.catalog import open_catalog
                from gitnexus.catalog.effective import effective

                opened = open_catalog(self._state.snapshot, self._state.repo.place, self._state.trusts)
                self._catalog = opened.catalog
                if self._role in opened.catalog.agents:
                    self._capabilities = effective(opened.catalog, self._role, opened.added)
        return self._capabilities

    # Files.

    def _below(self, path: str) -> str | None:
        return below(self._place, path)

    def _reading(self, call: Reads) -> Iterator[Finding]:
        for path in map(meant, call.paths):
            self._facts.append(("real", path, path))
            inside = self._below(path)
            # Outside of the worktree what is secret by its name is secret still.
            secret = (
                secret_by(path.lstrip("/")) if inside is None else inside and why_unreadable(self._here.law, inside)
            )
            if secret:
                yield Finding("deny", f"{one_line(path, 120)} is not read for an agent ({secret})", secret)
        for pattern in call.patterns:
            for name in _spelled(pattern):
                if rule := why_unreadable(self._here.law, name) if not _odd(name) else None:
                    yield Finding(
                        "deny", f"{one_line(pattern, 120)} finds what is not read for an agent ({rule})", rule
                    )

    def _changes(self, call: Writes | Patched) -> Iterator[Change]:
        rows = [(call.path, "update")] if isinstance(call, Writes) else [(row.path, row.what) for row in call.files]
        moved = isinstance(call, Patched) and any(row.what == "move" for row in call.files)
        seen = set()
        text = "" if isinstance(call, Patched) else new_text(call)
        for path, what in rows:
            place = self._below(meant(path))
            if not place or place in seen:
                continue
            seen.add(place)
            old = _mode(meant(path))
            gone = what == "delete"
            new = "" if gone else old or "100644"
            yield Change(
                path=place, old_mode=old or ("100644" if gone or moved else ""), new_mode=new, binary="\0" in text
            )

    def _patch_of(self, call: Writes | Patched) -> PatchRequest:
        changes = tuple(sorted(self._changes(call), key=lambda row: os.fsencode(row.path)))
        return PatchRequest(**self._common(), base="", base_tree="", result_tree="", changes=changes)

    def _writing(self, request: PatchRequest) -> Iterator[Finding]:
        if request.changes:
            yield self._decided(request)

    def _outside(self, call: Writes | Patched) -> Iterator[Finding]:
        for path in [call.path] if isinstance(call, Writes) else [row.path for row in call.files]:
            real = meant(path)
            if self._below(real) is None:
                yield self._elsewhere(real)

    def _elsewhere(self, real: str) -> Finding:
        shown = one_line(real, 120)
        secret = secret_by(real.lstrip("/"))
        if secret:
            return Finding("deny", f"{shown}: {secret} holds secrets", "builtin.secret")
        if enters_git(real.lstrip("/")):
            return Finding("deny", f"{shown}: nothing of an agent's goes into .git", "builtin.git")
        return Finding("ask", f"{shown} lies outside of the project", "harness.outside")

    def _unplanned(self) -> Iterator[Finding]:
        """Yield a no where edits need an open task and there is none."""
        folder = Path(self._place.top, ".nexus", "state")
        wanted = self._here.law.unplanned
        if wanted is None:
            wanted = "require-task" if self._place.run and (folder / "plan.json").exists() else "free"
        if wanted == "require-task" and not (folder / "tasks.json").exists():
            why = "edits need a task here, and none is open: nx_task_add adds one (the policy says edits: require-task)"
            yield Finding("deny", why, "edits.require-task")

    # Commands.

    def _shell(self, call: Shell) -> tuple[list[Finding], Request]:
        cwd = os.path.realpath(call.cwd)
        whole = self._command(call.argv or ("sh", "-c", call.text), cwd)
        if call.dialect != "sh":
            return [Finding("ask", f"a text for {call.dialect} is not read here", "harness.shell")], whole
        text = shell.inner_text(call.argv) if call.argv else call.text
        try:
            script = shell.read(text) if text is not None else shell.Script((shell.Command(call.argv, True),))
        except shell.TooMuch:
            return [Finding("deny", "it is too long or too deep to be looked at", "harness.shell")], whole
        findings = [one for command in script.commands for one in self._part(command, cwd)]
        if _writes(call):
            findings += self._unplanned()
        if text is not None and BEGIN in text:
            findings += self._hidden_patch(text, cwd)
        if call.argv and text is not None:
            findings += [self._decided(self._command(call.argv, cwd))]
        if not script.is_exact or not findings:
            findings.append(
                Finding("ask", script.why or "it writes to a file, or sets more than words", "harness.shell")
            )
        single = script.commands[0] if script.is_exact and len(script.commands) == 1 else None
        return findings, self._command(single.argv, cwd) if single else whole

    def _part(self, command: shell.Command, cwd: str) -> Iterator[Finding]:
        """Yield what is found about one command of a text: itself, what it reads and what it writes."""
        if command.argv and command.argv[0]:
            yield self._decided(self._command(command.argv, cwd))
            for word in command.argv[1:]:
                yield from self._linked(word, cwd)
        written = effect(command.argv) if command.argv else effect(())
        for path in (*written.paths, *command.writes):
            yield self._written(path, cwd)
        if written.anything:
            yield Finding("ask", "it writes files that its words do not name", "harness.shell")
        for path in command.reads:
            real = meant(posixpath.join(cwd, path))
            yield from self._reading(Reads((real,)))

    def _linked(self, word: str, cwd: str) -> Iterator[Finding]:
        """Yield a no for a word that is the name of a link to what is not read."""
        if word.startswith("-") or "\0" in word or len(word) > 1000:
            return
        path = posixpath.join(cwd, word)
        real = os.path.realpath(path)
        self._facts.append(("real", path, real))
        if os.path.lexists(path):
            yield from self._reading(Reads((real,)))

    def _written(self, path: str, cwd: str) -> Finding:
        real = meant(posixpath.join(cwd, path) if not path.startswith("~") else path)
        place = self._below(real)
        if place is None:
            return self._elsewhere(real)
        if not place:
            return Finding("ask", "it writes to the top of the worktree", "harness.shell")
        old = _mode(real)
        change = Change(path=place, old_mode=old, new_mode=old or "100644")
        found = self._decided(PatchRequest(**self._common(), base="", base_tree="", result_tree="", changes=(change,)))
        # A path that may be written does not make the command one that may be run.
        return found if found.verdict == "deny" else Finding("ask", found.why, found.rule)

    def _hidden_patch(self, text: str, cwd: str) -> Iterator[Finding]:
        rows = touched(text)
        for row in rows or ():
            yield self._written(row.path, cwd)
        if rows is None:
            yield Finding("ask", "it holds a patch of a form that is not known here", "harness.shell")

    def _command(self, argv: tuple[str, ...], cwd: str) -> CommandRequest:
        program = program_of(argv[0], cwd)
        if "/" not in argv[0]:
            self._facts.append(("program", argv[0], program))
        return CommandRequest(
            **self._common(),
            argv=argv,
            program=program or nowhere(argv[0]),
            # Whoever runs it is another program: what the file held when it was asked about binds nobody.
            program_digest="",
            cwd=cwd,
            base="",
            env={},
            limits={},
            network="none" if program and only_looks(argv) else "full",
            sandbox="L0",
        )

    # Others.

    def _handed(self, call: Subagent) -> Finding:
        request = HandoffRequest(
            **self._common(), workflow="", sender=self._role or "lead", receiver=call.role, message_digest=""
        )
        found = self._decided(request)
        # To start an agent does nothing yet: each of its calls is judged. Only a rule about it counts.
        return Finding("", "") if found.rule == "silence" else found

    def _served(self, call: Mcp) -> Finding:
        if is_ours(call):
            return Finding("allow", "our own server judges it", "harness.ours")
        why = f"the server {one_line(call.server, 60)} is not ours, and its tools are in no table"
        return Finding("ask", why, "harness.mcp")

    def _common(self) -> dict[str, str]:
        return {"project": self._project, "run": _NO_RUN, "role": self._role}

    def _decided(self, request: Request) -> Finding:
        looks = isinstance(request, CommandRequest) and request.network == "none"
        world = World(worktree=self._place.top, executed_changed=not looks)
        found = decide(request, self._here.law, self._granted(), world=world, now=now())
        if self._last is None or _ORDER[found.verdict] >= _ORDER[self._last.verdict]:
            self._last = found
        why = found.why if found.verdict != "deny" else f"{found.why} (rule {found.rule})"
        return Finding(found.verdict, why, found.rule)

    def _granted(self) -> list[Grant]:
        """Return the standing approvals that hold; none where nobody can tell whose word counts."""
        if self._grants is None:
            common = self._state.repo.common_dir
            self._grants = []
            if any((common / "nexus" / "grants").glob("*")):
                from gitnexus.app.standing import Grants  # the signatures: only who has one pays
                from gitnexus.policy.ledger import Ledger
                from gitnexus.policy.signed import Signed

                with contextlib.suppress(NexusError):
                    approvers = Signed(self._state.latest(), common).consented()
                    self._grants = [one for _, one in Grants(common).holding(approvers, Ledger(common), now())]
        return self._grants


def role_of(told: Happening) -> str:
    """Return the role of a sub-agent, without the name of the plug-in that brought it."""
    return told.agent.rpartition(":")[2].lower()


def is_ours(call: Mcp) -> bool:
    """True for a tool of ours on a server of our name, as it is installed or as a plug-in names it."""
    named = call.server == "nexus" or (call.server.startswith("plugin_") and call.server.endswith("_nexus"))
    return named and (call.tool.startswith("nx_") or call.tool in _RUN_TOOLS)


_RUN_TOOLS = frozenset("propose_patch propose_command handoff ask read search diff status wait".split())


def _writes(call: Shell) -> bool:
    """True if a shell call writes files, as far as it can be told."""
    text = shell.inner_text(call.argv) if call.argv else call.text
    try:
        commands = shell.read(text).commands if text is not None else (shell.Command(call.argv, True),)
    except shell.TooMuch:
        return True
    found = [effect(one.argv) for one in commands if one.argv]
    return any(one.paths or one.anything for one in found) or any(one.writes for one in commands)


def _mode(path: str) -> str:
    """Return the kind of a file as git has it, empty if there is none."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    return "100755" if mode & 0o111 else "100644"


def _spelled(pattern: str) -> Iterable[str]:
    """Return names that a pattern of names may find: what it would with nothing or one letter for each wildcard."""
    if pattern.startswith("!"):
        return ()
    names = {pattern.translate({ord(mark): letter for mark in "*?"}) for letter in ("", "x")}
    parts = {name.strip("/") for name in names} | {name.rpartition("/")[2] for name in names}
    braces = {part.replace("{", "").replace("}", "").split(",")[0] for part in parts} if "{" in pattern else set()
    return [name.replace("//", "/") for name in parts | braces if name.strip("./")]


def _odd(name: str) -> bool:
    from gitnexus.policy.paths import why_odd

    return why_odd(name) is not None
