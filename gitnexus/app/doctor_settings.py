"""Checks of `git nexus doctor` on what a project may configure: the catalog, the settings, workflows of its own."""

from collections.abc import Iterator

from gitnexus.app.doctor_finding import MOST_TOLD, DoctorFinding
from gitnexus.catalog import open_catalog
from gitnexus.git.config_keys import unknown_config_keys
from gitnexus.memory.model import parse_memory_settings
from gitnexus.runs.setup_rules import parse_run_settings
from gitnexus.state import State
from gitnexus.state.settings import settings_section, unknown_keys


def check_catalog(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    if not state.exists:
        return
    opened = open_catalog(state.latest(), state.repo.folder, state.trusts)
    for words in opened.problems[:MOST_TOLD]:
        yield DoctorFinding(
            "catalog", "problem", f"{opened.asked}: {words}", "fix the package or change catalog.source"
        )
    if len(opened.problems) > MOST_TOLD:
        more = len(opened.problems) - MOST_TOLD
        yield DoctorFinding(
            "catalog", "problem", f"{opened.asked}: and {more} more", "git nexus catalog check lists them"
        )
    added = sum(map(len, opened.added.values()))
    words = f"{len(opened.catalog.agents)} roles and {len(opened.catalog.skills)} skills, {opened.catalog.source}"
    yield DoctorFinding("catalog", "ok", f"{words}, {added} capabilities added" if added else words)


def check_settings(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    snapshot = state.latest()
    parse_memory_settings(settings_section(snapshot, "memory", state.trusts))
    parse_run_settings(settings_section(snapshot, "runs", state.trusts))
    if asked := settings_section(snapshot, "prompts", state.trusts):
        from gitnexus.prompts.settings import parse_prompt_settings  # loads pydantic: only for such settings

        parse_prompt_settings(asked)
    if asked := settings_section(snapshot, "workflow", state.trusts):
        from gitnexus.workflow.settings import parse_workflow_settings  # loads pydantic: only for such settings

        parse_workflow_settings(asked)
    strange = unknown_keys(snapshot)
    for path, name in strange:
        yield DoctorFinding(
            "settings", "warning", f"{path}: no part of git nexus reads {name[:60]!r}", "is it misspelt?"
        )
    for key, meant in unknown_config_keys(state.repo):
        strange.append(("git config", key))
        if meant:
            yield DoctorFinding("settings", "problem", f"git config {key} is not known", f"did you mean {meant}?")
        else:
            yield DoctorFinding("settings", "warning", f"git config {key}: nothing reads it", "is it misspelt?")
    if not strange:
        yield DoctorFinding("settings", "ok", "every setting is known")


def check_macros(state: State, _fix: bool) -> Iterator[DoctorFinding]:
    if not state.exists or not state.latest().names("commands/custom"):
        return
    from gitnexus.workflow.commands import read_custom_macros  # loads pydantic: only where there are any

    found, wrong = read_custom_macros(state.latest())
    for path, why in list(wrong.items())[:MOST_TOLD]:
        yield DoctorFinding(
            "workflows", "warning", f".nexus/{path} is not a workflow: {why}", "git nexus workflow check"
        )
    if not wrong:
        yield DoctorFinding("workflows", "ok", f"{len(found)} of your own")
