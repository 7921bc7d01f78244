"""The ways of asking, by name."""

from gitnexus.prompts.protocol import Way
from gitnexus.prompts.viabaml import ViaBaml
from gitnexus.prompts.viapydantic import ViaPydanticAi

WAYS: dict[str, Way] = {"baml": ViaBaml(), "pydantic-ai": ViaPydanticAi()}
