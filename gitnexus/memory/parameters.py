"""The parameters of each memory tool."""

from typing import Annotated

from pydantic import Field

from gitnexus.base.parameters import Number, Parameters

Name = Annotated[str, Field(description="The note, without .md.")]


class MemoryStoreParameters(Parameters):
    text: str = Field(description="What is worth knowing next time, in Markdown.")
    name: str | None = Field(
        None, description="The topic in two to four words with dashes; derived from the text by default."
    )
    category: str | None = Field(None, description="empirical, external, pattern or one that the project added.")
    new: bool | None = Field(None, description="Create a new note even if one on the same topic exists.")
    here: bool | None = Field(None, description="Store it here even if it looks like a rule or like context.")


class MemoryReadParameters(Parameters):
    name: Name


class MemorySearchParameters(Parameters):
    query: str = Field(description="The words.")
    limit: Number | None = Field(None, description="How many at most; 10 by default.")


class MemoryGcParameters(Parameters):
    delete: list[str] | None = Field(None, description="Candidates to forget.")
    merge: list[str] | None = Field(None, description="Duplicates to merge into the note that they resemble.")


class MemoryRestoreParameters(Parameters):
    name: Name
    from_commit: str | None = Field(None, description="A commit of the state that has or deleted it.")


class RuleStoreParameters(Parameters):
    text: str = Field(description="The rule, in a sentence.")
    tag: str | None = Field(None, description="What it is about, one word; general if left out.")
