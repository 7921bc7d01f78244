"""Typed prompt functions: named inputs go to a language model, a validated record comes back.

Six functions, each with records for its inputs and outputs. Their prompts are BAML files: ours in this package, a
project's in `baml/` on the state ref if an approver signed them. Two client libraries: `baml-py` and `pydantic-ai`.
"""

from gitnexus.prompts.call import Prompter, Reply
from gitnexus.prompts.functions import FUNCTIONS, function_named

__all__ = ["FUNCTIONS", "Prompter", "Reply", "function_named"]
