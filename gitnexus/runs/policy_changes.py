"""Notes the policy that a run began under, and logs `policy.changed` when another one is in force."""

import contextlib
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.files import replace_file
from gitnexus.events.kinds import LONGEST_NAME, shorten_text
from gitnexus.events.log import RunLog
from gitnexus.policy.in_force import PolicyInForce
from gitnexus.policy.rules import FILE as POLICY
from gitnexus.policy.signed import FILE as SIGNATURES
from gitnexus.policy.terms import policy_terms, terms_difference, terms_digest
from gitnexus.state import State
from gitnexus.state.diary import read_state_log

NOTE = "policy.json"


def note_policy(folder: Path, here: PolicyInForce) -> str:
    """Write down the policy that a run begins under, and return its digest."""
    terms = policy_terms(here)
    replace_file(folder / NOTE, json_document(_note_of(here, terms)), 0o600)
    return terms_digest(terms)


def log_policy_change(log: RunLog, known: str, here: PolicyInForce, state: State) -> None:
    """Log `policy.changed` if the policy in force is not the one the run last knew, whose digest is `known`.

    A run that began before policies were noted has none: "" logs nothing. Raises: NexusError.
    """
    terms = policy_terms(here)
    digest = terms_digest(terms)
    if not known or digest == known:
        return
    before = _read_note(log.folder)
    body = {"digest": digest, "before": known, "by": _who_changed(state, before, here)}
    why = terms_difference(before.get("terms", ()), terms) if before.get("digest") == known else ""
    log.append("policy.changed", "gate", {**body, **({"why": shorten_text(why)} if why else {})})
    note_policy(log.folder, here)


def _note_of(here: PolicyInForce, terms: tuple[str, ...]) -> dict[str, Any]:
    return {"digest": terms_digest(terms), "terms": list(terms), "project": here.project_oid, "trusted": here.trusted}


def _read_note(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, Invalid):
        found = parse_json((folder / NOTE).read_bytes())
        if isinstance(found, dict) and isinstance(found.get("terms"), list):
            return found
    return {}


def _who_changed(state: State, before: dict[str, Any], here: PolicyInForce) -> str:
    """Return who wrote the project's policy last if that is what changed; else the user, whose own file it was."""
    edited = before.get("project", here.project_oid) != here.project_oid
    signed = before.get("trusted", here.trusted) != here.trusted
    name = state.author.name
    if edited or signed:
        with contextlib.suppress(NexusError):
            entries, _ = read_state_log(state, POLICY if edited else SIGNATURES, 1)
            name = entries[0].author if entries else name
    return shorten_text(name.strip() or "somebody", LONGEST_NAME)
