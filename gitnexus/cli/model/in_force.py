"""Passes the models in force to a command: the project's and yours, outside of a project yours alone."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import click

from gitnexus.app import open_nexus
from gitnexus.base.errors import NotFound
from gitnexus.prompts.in_project import read_prompt_settings
from gitnexus.prompts.settings import SECTION, PromptSettings, parse_prompt_settings
from gitnexus.state.settings import user_settings_section
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import print_note, start_folder

P = ParamSpec("P")
R = TypeVar("R")


class ModelsInForce(NamedTuple):
    """The settings of models, read when they are asked for, and the project, None outside of one."""

    read: Callable[[], PromptSettings]
    described: Callable[[], dict[str, str] | None] | None


def with_models(command: Callable[Concatenate[ModelsInForce, P], R]) -> Callable[P, R]:
    """Pass the models in force to a command; it needs neither a project nor a repository."""

    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        place = start_folder(current_invocation(click.get_current_context()))
        try:
            nexus = open_nexus(place)
        except NotFound:
            if not place.is_dir():
                raise
            mine = ModelsInForce(lambda: parse_prompt_settings(user_settings_section(SECTION)), None)
            return command(mine, *args, **kwargs)
        try:
            for line in nexus.notices:
                print_note(line)
            in_force = ModelsInForce(lambda: read_prompt_settings(nexus.state), nexus.described)
            return command(in_force, *args, **kwargs)
        finally:
            nexus.close()

    return update_wrapper(opened, command)
