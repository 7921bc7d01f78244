"""Asks a model what else changes in the agenda after a run: takes the edits that rules made, returns those to propose.

Writes to the run's log what the call cost, or why the edits of the rules stay as they are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.text import one_line
from gitnexus.docgraph import DocGraph
from gitnexus.docgraph.edit import with_link
from gitnexus.docgraph.model import Doc
from gitnexus.docgraph.parse import parse_doc
from gitnexus.docgraph.phases import DocEdit
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.dialects.apply import FILE, edits_of_sections
from gitnexus.gateway.dialects.parse import parse_sections
from gitnexus.prompts.call import Reply
from gitnexus.prompts.chat import PromptSession
from gitnexus.prompts.in_project import open_prompter, read_prompt_settings
from gitnexus.prompts.model import AgendaPatchInput, Patch
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.open_run import OpenRun

FUNCTION = "AgendaPatch"
_TRIES = 2
_LONGEST_WHY = 200


def edits_with_model(
    run: OpenRun, graph: DocGraph, phase: Doc, edits: Sequence[DocEdit], done: Iterable[str]
) -> list[DocEdit]:
    """Return the edits with those of the model that is set for it; the given ones if none is, or it is of no use."""
    try:
        if FUNCTION not in read_prompt_settings(run.state).functions:
            return list(edits)
        return _ask_for_edits(run, graph, phase, edits, done)
    except NexusError as exc:
        why = one_line(mask(exc.message, known_secret_values()), 300)
        _log(run, f"the model's change of the agenda does not count, the rules' does: {why}")
        return list(edits)


def _ask_for_edits(
    run: OpenRun, graph: DocGraph, phase: Doc, edits: Sequence[DocEdit], done: Iterable[str]
) -> list[DocEdit]:
    before = {doc.path: doc.raw for doc in (graph.agenda, phase) if doc is not None and doc.sound}
    before |= {edit.path: edit.before for edit in edits if edit.before is not None}
    now = before | {edit.path: edit.after for edit in edits}
    titles = "".join(f"\n- {one_line(title, 200)}" for title in sorted(done))
    given = AgendaPatchInput(
        run_summary=f"The run {run.record.id}: {one_line(run.record.title, 400)}\nSteps that it completed:{titles}",
        agenda="\n\n".join(f"{path}:\n{raw.decode('utf-8', 'replace')}" for path, raw in now.items()),
    )
    prompter, feedback = open_prompter(run.state), ""
    for left in reversed(range(_TRIES)):
        reply = prompter.call(FUNCTION, given, Patch, feedback=feedback, session=_session(run))
        _log_cost(run, reply)
        try:
            new = _apply_diff(reply.output.diff, now, phase, run.record.id)
        except NexusError as exc:
            if not left:
                raise
            feedback = exc.message
            continue
        whys = {edit.path: edit.why for edit in edits}
        said = one_line(mask(reply.output.summary, known_secret_values()), _LONGEST_WHY)
        return [
            DocEdit(path, before.get(path), raw, _why(whys.get(path, ""), said if raw != now[path] else ""))
            for path, raw in new.items()
            if raw != before.get(path)
        ]
    raise AssertionError("the last try returns or raises")


def _apply_diff(diff: str, now: Mapping[str, bytes], phase: Doc, run: str) -> dict[str, bytes]:
    """Return the documents after a diff. Raises: Invalid, Conflict."""
    if not diff.strip():
        return dict(now)
    if mask(diff, known_secret_values()) != diff:
        raise Invalid("the diff contains what looks like a secret; leave it out")
    new = dict(now)
    for edit in edits_of_sections(parse_sections(diff), dict.fromkeys(now, FILE), now.__getitem__):
        if edit.path not in now or edit.content is None:
            raise Invalid(f"only what was given may be changed, not {one_line(edit.path, 80)}")
        new[edit.path] = edit.content
    for path, raw in new.items():
        doc = parse_doc(raw, path)
        known = {(one.code, one.message) for one in parse_doc(now[path], path).findings}
        wrong = next((one for one in doc.findings if (one.code, one.message) not in known), None)
        if not doc.sound or wrong is not None:
            raise Invalid(f"{path} would be wrong: {wrong.message if wrong else 'it cannot be read any more'}")
        if path == phase.path and with_link(doc, "run", run) != raw:
            raise Invalid(f"the link to the run {run} in {path} has to stay")
    return new


def _why(rules: str, model: str) -> str:
    return "; ".join(filter(None, (rules, model)))


def _session(run: OpenRun) -> PromptSession:
    def record(exchange: Mapping[str, Any]) -> None:
        kept = run.artifacts.write("agenda-exchange.json", json.dumps(exchange, ensure_ascii=True).encode())
        run.log.append("artifact.written", "nexus", {"name": kept.name, "digest": kept.digest, "size": kept.size})

    return PromptSession(record=record)


def _log_cost(run: OpenRun, reply: Reply[Patch]) -> None:
    body: dict[str, Any] = {"input": reply.tokens_in or 0, "output": reply.tokens_out or 0}
    if reply.cost_usd is not None:
        body["cost"] = int(reply.cost_usd * 1_000_000)
    run.log.append("agent.spent", "model", body)


def _log(run: OpenRun, text: str) -> None:
    run.log.append("agent.progress", "nexus", {"text": shorten_text(text)})
