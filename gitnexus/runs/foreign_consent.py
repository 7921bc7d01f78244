"""Shows what another person's run would do, and records the user's agreement to exactly that.

The agreement covers the definition and the commit of the run's branch, which is the code it works with.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from gitnexus.base.canonical import canonical_json
from gitnexus.base.errors import ApprovalNeeded, Conflict
from gitnexus.events.model import sha256_digest
from gitnexus.git.branches import tip_of_ref
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.origin import read_agreement, write_agreement


def is_agreed(run: OpenRun) -> bool:
    """True if the run may continue here: it was begun or ordered here, or a person agreed to its present state."""
    known = read_agreement(run.noted, run.record.id)
    if not run.foreign or known is None:
        return not run.foreign
    return known.hash == (run.record.definition if known.by == "order" else agreement_hash(run))


def agreement_hash(run: OpenRun) -> str:
    """Return the hash over the run's definition, its base and the commit of its branch."""
    bound = {"definition": run.record.definition, "base": run.record.base, "commit": _branch_commit(run)}
    return sha256_digest(b"git-nexus agreement v1\0" + canonical_json(bound))


def require_agreement(open_run: OpenRun) -> None:
    """Raise an error if the run is another person's and nobody here has agreed to it. Raises: ApprovalNeeded."""
    if is_agreed(open_run):
        return
    run, hash_ = open_run.record.id, agreement_hash(open_run)
    known = read_agreement(open_run.noted, run)
    moved = "; what was agreed to was another definition or another commit" if known and known.by == "person" else ""
    raise ApprovalNeeded(
        f"{run} was started by somebody else, and nobody here has agreed to what it will do "
        f"at {_branch_commit(open_run)[:12]} "
        f"({hash_}){moved}",
        hint=f"git nexus resume {run} shows it and asks; without a terminal: git nexus resume {run} --agree {hash_}",
        context={"definition": open_run.record.definition, "commit": _branch_commit(open_run), "agreement": hash_},
    )


def record_agreement(run: OpenRun, hash_: str) -> None:
    """Record the user's agreement to the state with this hash. Raises: Conflict, VerificationFailed."""
    run.definition()  # raises an error unless it is the definition named in the record
    wanted = agreement_hash(run)
    if hash_ != wanted:
        alone = "the hash of its definition does not include the commit from which it continues; " * (
            hash_ == run.record.definition
        )
        raise Conflict(
            f"{alone}{run.record.id} at {_branch_commit(run)[:12]} is {wanted}, and not what was agreed to",
            hint=f"git nexus resume {run.record.id} shows it",
            context={"definition": run.record.definition, "commit": _branch_commit(run), "agreement": wanted},
        )
    write_agreement(run.noted, run.record.id, wanted, "person")


@contextmanager
def agreement_kept(run: OpenRun) -> Iterator[None]:
    """Context manager: renew a person's agreement after this machine adds a commit to the branch."""
    known = read_agreement(run.noted, run.record.id)
    holds = known is not None and known.by == "person" and is_agreed(run)
    yield
    if holds:
        write_agreement(run.noted, run.record.id, agreement_hash(run), "person")


def definition_lines(run: OpenRun) -> list[str]:
    """Return the whole definition as ASCII lines, its code, and the settings that do not apply here.

    Raises: NexusError.
    """
    found = run.workflow() or run.definition()
    whole = json.dumps(found.plain(), indent=2, ensure_ascii=True).splitlines()
    steps = run.definition().nodes
    notes = [f"its mode is {found.mode}; here it continues in mode {run.mode}"] if run.mode != found.mode else []
    notes += [f"{one.id}: its model's address {json.dumps(one.address)} is not used" for one in steps if one.address]
    notes += [f"{one.id}: your sign-in is not lent because it says so" for one in steps if one.sign_in]
    base, commit = run.record.base, _branch_commit(run)
    since = f"; git diff {base[:12]} {commit[:12]} shows what was changed since its base" if commit != base else ""
    code = [f"base {base}", f"branch {run.record.branch} at {commit}{since}"]
    return [*whole, f"definition {run.record.definition}", *code, *notes, f"to agree to: {agreement_hash(run)}"]


def _branch_commit(run: OpenRun) -> str:
    return tip_of_ref(run.repo, run.branch) or run.record.base
