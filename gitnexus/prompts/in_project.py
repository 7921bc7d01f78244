"""Prompts of an open project: the settings that count, and the words of the project where they are signed."""

from typing import NamedTuple

from gitnexus.policy.signed import PROMPTS, Signed
from gitnexus.prompts.call import Prompter
from gitnexus.prompts.settings import SECTION, PromptSettings, Via, settings_of
from gitnexus.prompts.words import FOLDER, built_in, overlaid
from gitnexus.redaction.stored import known_values
from gitnexus.state import State
from gitnexus.state.settings import FILE, loosening, section


class Words(NamedTuple):
    """The files in force; which of them are the project's; and which do not count, with the reason."""

    files: dict[str, str]
    own: tuple[str, ...]
    ignored: dict[str, str]


def prompter_of(state: State, via: Via | None = None) -> Prompter:
    """Return what asks models in this project. Raises: Invalid."""
    settings = prompt_settings(state)
    return Prompter(settings.changed(via=via) if via else settings, words_of(state).files, known_values())


def prompt_settings(state: State) -> PromptSettings:
    """Return the settings; a project's count only if signed. Raises: Invalid."""
    return settings_of(section(state.required(), SECTION, state.trusts))


def words_of(state: State) -> Words:
    """Return the words of the functions: ours, and the project's where an approver signed them. Raises: Invalid."""
    snapshot = state.required()
    names = [name for name in snapshot.names(FOLDER) if name.endswith(".baml")]
    if not names:
        return Words(dict(built_in()), (), {})
    signed = Signed(snapshot, state.repo.common_dir)
    own: dict[str, bytes] = {}
    ignored = {}
    for name in names:
        path = f"{FOLDER}/{name}"
        raw = snapshot.read(path) or b""
        standing = signed.standing(path, raw)
        if path not in PROMPTS:
            ignored[name] = "it is no file of a prompt"
        elif standing.trusted:
            own[name] = raw
        else:
            ignored[name] = standing.why
    return Words(overlaid(own), tuple(own), ignored)


def unsigned(state: State) -> list[str]:
    """Return the keys of the project's settings about prompts that wait for a signature."""
    raw = state.required().read(FILE)
    if raw is None or state.trusts(state.required(), raw):
        return []
    return [key for key in loosening(raw) if key.split(".")[0] == SECTION]
