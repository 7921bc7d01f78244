"""The table of client libraries by name."""

from gitnexus.prompts.protocol import AskingWay
from gitnexus.prompts.viabaml import ViaBaml
from gitnexus.prompts.viapydantic import ViaPydanticAi

WAYS: dict[str, AskingWay] = {"baml": ViaBaml(), "pydantic-ai": ViaPydanticAi()}
