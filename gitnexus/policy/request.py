"""Canonical encoding of a request: the bytes that are judged, hashed and bound, and their strict parser."""

import hashlib

from gitnexus.base.canonical import canonical_json, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.policy.model import (
    AgendaRequest,
    CommandRequest,
    DocumentRequest,
    HandoffRequest,
    MemoryDeleteRequest,
    NetworkRequest,
    PatchRequest,
    PolicyRequest,
    Request,
)

VERSION = 1
LARGEST = 8 * 1024 * 1024
KINDS: dict[str, type[Request]] = {
    one.kind: one
    for one in (
        PatchRequest, CommandRequest, HandoffRequest, DocumentRequest, AgendaRequest, PolicyRequest,
        MemoryDeleteRequest, NetworkRequest,
    )
}  # fmt: skip


def canonical_bytes(request: Request) -> bytes:
    """Return the RFC 8785 bytes of `request`. Raises: Invalid if they would not parse back to the same."""
    if KINDS.get(request.kind) is not type(request):
        raise Invalid("this is not a request of a known kind")
    value = request.plain()
    # A record that was made by hand is not checked yet: a 1.0 where 1 belongs would have the digest of 1.
    if type(request).from_value(value, "request") != request:
        raise Invalid("the request would not come back as it is")
    return canonical_json({"v": VERSION, "kind": request.kind, **value})


def request_digest(request: Request) -> str:
    """Return `sha256:…` over the canonical bytes. Raises: Invalid."""
    return f"sha256:{hashlib.sha256(canonical_bytes(request)).hexdigest()}"


def parse_request(raw: bytes) -> Request:
    """Return the request in a JSON text; rejects anything ambiguous. Raises: Invalid."""
    if len(raw) > LARGEST:
        raise Invalid(f"the request is larger than {LARGEST // 1024 // 1024} MiB")
    value = parse_json(raw)
    if not isinstance(value, dict):
        raise Invalid("a request should be an object")
    if type(value.get("v")) is not int or value.pop("v") != VERSION:
        raise Invalid(f"a request should say v {VERSION}")
    kind = value.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise Invalid("the request is of no known kind", hint=f"the kinds are {', '.join(KINDS)}")
    return KINDS[kind].from_value(value, "request")
