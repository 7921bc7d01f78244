"""Records: frozen values that are checked once, at the door."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from gitnexus.base.canonical import document, parse
from gitnexus.base.errors import Invalid


class Record(BaseModel):
    """A frozen value; fields it does not know are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class StoredRecord(Record):
    """A record kept in a file: fields of a newer writer are kept and written back as they were."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def from_bytes(cls, raw: bytes, path: str) -> Self:
        """Return the record in `raw`. Raises: Invalid, naming `path`."""
        try:
            return cls.model_validate(parse(raw))
        except Invalid as exc:
            raise Invalid(f"{path} is {exc.message}", hint="it is left as it is; repair it by hand") from exc
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the document"
            raise Invalid(
                f"{path} does not have the form it should: {where}: {first['msg']}",
                hint="it is left as it is; repair it by hand",
            ) from exc

    def plain(self) -> dict[str, Any]:
        """Return the JSON value, with unknown fields and without those that are None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_bytes(self) -> bytes:
        """Return the stored form."""
        return document(self.plain())
