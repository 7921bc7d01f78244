"""Typed prompt functions: a question with named inputs, an answer that has a form, whoever the model is.

Six functions, each with records for what goes in and what comes out. Their words are BAML files, ours in this package,
a project's in `baml/` on the state ref if an approver signed them. Two ways to ask: `baml-py` and `pydantic-ai`.
"""

from gitnexus.prompts.call import Prompter, Reply
from gitnexus.prompts.functions import FUNCTIONS, function_named

__all__ = ["FUNCTIONS", "Prompter", "Reply", "function_named"]
