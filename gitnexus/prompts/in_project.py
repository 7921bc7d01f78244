"""Opens the prompt functions of a project: its settings, and its own prompt files where an approver signed them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.policy.signed import PROMPTS, SignedFiles
from gitnexus.prompts.call import Prompter
from gitnexus.prompts.settings import SECTION, PromptSettings, Via, parse_prompt_settings
from gitnexus.prompts.words import FOLDER, builtin_prompt_files, overlay_prompt_files
from gitnexus.redaction.stored import known_secret_values
from gitnexus.state import State
from gitnexus.state.settings import FILE, PROJECT_FILE, loosening_keys_in, settings_layers, settings_section


class PromptFiles(NamedTuple):
    """The prompt files in force, which of them are the project's, and which do not count, with the reason."""

    files: dict[str, str]
    own: tuple[str, ...]
    ignored: dict[str, str]


def open_prompter(state: State, via: Via | None = None) -> Prompter:
    """Return the `Prompter` of this project. Raises: Invalid."""
    settings = read_prompt_settings(state)
    return Prompter(
        settings.changed(via=via) if via else settings, read_prompt_files(state).files, known_secret_values()
    )


def read_prompt_settings(state: State) -> PromptSettings:
    """Return the settings; a project's count only if signed, and name no command to run. Raises: Invalid."""
    for path, layer in settings_layers(state.required(), SECTION, state.trusts):
        if path == PROJECT_FILE and "keyCommand" in _all_keys(layer):
            raise Invalid(f"{path}: {SECTION}: keyCommand is for your own settings", hint="it is run on your machine")
    return parse_prompt_settings(settings_section(state.required(), SECTION, state.trusts))


def _all_keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _all_keys(item)


def read_prompt_files(state: State) -> PromptFiles:
    """Return the prompt files: the built-in ones, and the project's if an approver signed them. Raises: Invalid."""
    snapshot = state.required()
    names = [name for name in snapshot.names(FOLDER) if name.endswith(".baml")]
    if not names:
        return PromptFiles(dict(builtin_prompt_files()), (), {})
    signed = SignedFiles(snapshot, state.repo.common_dir)
    own: dict[str, bytes] = {}
    ignored = {}
    for name in names:
        path = f"{FOLDER}/{name}"
        raw = snapshot.read(path) or b""
        standing = signed.trust_of(path, raw)
        if path not in PROMPTS:
            ignored[name] = "it is not a prompt file"
        elif standing.trusted:
            own[name] = raw
        else:
            ignored[name] = standing.why
    return PromptFiles(overlay_prompt_files(own), tuple(own), ignored)


def unsigned_prompt_keys(state: State) -> list[str]:
    """Return the keys of the project's prompt settings that need a signature."""
    raw = state.required().read(FILE)
    if raw is None or state.trusts(state.required(), raw):
        return []
    return [key for key in loosening_keys_in(raw) if key.split(".")[0] == SECTION]
