"""The canonical form: equal requests have equal digests, different ones never."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.policy import model
from gitnexus.policy.request import KINDS, canonical_bytes, parse_request, request_digest
from tests.policy.scene import change, command, handoff, patch

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CHANGES = st.builds(
    model.PatchRow,
    path=TEXT,
    old_mode=TEXT,
    new_mode=TEXT,
    old_blob=TEXT,
    new_blob=TEXT,
    link_target=TEXT,
    binary=st.booleans(),
)
COMMON: dict[str, Any] = {"project": TEXT, "run": TEXT, "role": TEXT}
KIND: dict[type[model.Request], st.SearchStrategy[Any]] = {
    model.PatchRequest: st.builds(
        model.PatchRequest, **COMMON, base=TEXT, base_tree=TEXT, result_tree=TEXT,
        changes=st.lists(CHANGES, max_size=3).map(tuple),
    ),
    model.CommandRequest: st.builds(
        model.CommandRequest, **COMMON, argv=st.lists(TEXT, max_size=4).map(tuple), program=TEXT, program_digest=TEXT,
        cwd=TEXT, base=TEXT, env=st.dictionaries(TEXT, TEXT, max_size=3), stdin_digest=TEXT,
        limits=st.dictionaries(TEXT, st.integers(-(2**53) + 1, 2**53 - 1), max_size=3),
        network=st.sampled_from(["none", "loopback", "full"]), sandbox=st.sampled_from(["L0", "L1", "L2", "L3"]),
    ),
    model.HandoffRequest: st.builds(
        model.HandoffRequest, **COMMON, workflow=TEXT, sender=TEXT, receiver=TEXT, message_digest=TEXT
    ),
    **{
        kind: st.builds(kind, **COMMON, path=TEXT, old_digest=TEXT, new_digest=TEXT)
        for kind in (model.DocumentRequest, model.AgendaRequest, model.PolicyRequest)
    },
    model.MemoryDeleteRequest: st.builds(
        model.MemoryDeleteRequest, **COMMON, notes=st.dictionaries(TEXT, TEXT, max_size=3)
    ),
    model.NetworkRequest: st.builds(
        model.NetworkRequest, **COMMON, hosts=st.lists(TEXT, max_size=3).map(tuple), purpose=TEXT
    ),
}  # fmt: skip
REQUESTS = st.one_of(*KIND.values())


@settings(deadline=None)
@given(REQUESTS)
def test_a_request_comes_back_from_its_canonical_bytes(request: model.Request) -> None:
    raw = canonical_bytes(request)

    assert parse_request(raw) == request
    assert canonical_bytes(parse_request(raw)) == raw


@settings(deadline=None)
@given(REQUESTS, REQUESTS)
def test_two_requests_have_one_digest_only_if_they_are_equal(one: model.Request, other: model.Request) -> None:
    assert (request_digest(one) == request_digest(other)) == (type(one) is type(other) and one == other)


@settings(deadline=None)
@given(REQUESTS, st.data())
def test_any_field_that_differs_makes_another_digest(request: model.Request, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([field.name for field in dataclasses.fields(request)]))  # type: ignore[arg-type]
    held = getattr(request, name)
    other = request.changed(
        **{name: data.draw(KIND[type(request)].map(lambda one: getattr(one, name)).filter(lambda value: value != held))}
    )

    assert request_digest(other) != request_digest(request)


@settings(deadline=None)
@given(REQUESTS, st.data())
def test_every_byte_of_the_canonical_form_counts(request: model.Request, data: st.DataObject) -> None:
    raw = bytearray(canonical_bytes(request))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[at]))

    try:
        other = parse_request(bytes(raw))
    except Invalid:
        return
    assert request_digest(other) != request_digest(request)


def test_the_digest_does_not_depend_on_the_order_of_a_mapping() -> None:
    one = command("ls", env={"A": "1", "B": "2"})
    other = command("ls", env={"B": "2", "A": "1"})

    assert request_digest(one) == request_digest(other)


@pytest.mark.parametrize(
    "wrong",
    [
        command("ls", limits={"seconds": 1.0}),
        command("ls", limits={"seconds": True}),
        command("ls", env={"A": 1}),
        patch(change("a", binary=1)),
        handoff(role=None),
    ],
)
def test_a_value_of_the_wrong_type_has_no_digest(wrong: model.Request) -> None:
    with pytest.raises(Invalid):
        request_digest(wrong)


def test_a_kind_of_somebodys_own_has_no_digest() -> None:
    class Odd(model.CommandRequest):
        pass

    with pytest.raises(Invalid):
        request_digest(Odd(**vars(command("ls"))))


def altered(**fields: Any) -> bytes:
    return json.dumps({**json.loads(canonical_bytes(command("ls"))), **fields}).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"[]", b"null", b'"x"', b"{}", b"",
        altered(v=2), altered(v="1"), altered(v=True), altered(v=1.0),
        altered(kind="shell"), altered(kind=None), altered(kind=["command"]),
        altered(requiresApproval=False), altered(argv="ls"), altered(argv=["ls", 1]), altered(argv=[["ls"]]),
        altered(network="all"), altered(sandbox="L9"), altered(env={"A": None}),
    ],
)  # fmt: skip
def test_what_is_not_exactly_a_request_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid):
        parse_request(raw)


def test_every_kind_of_the_model_can_be_parsed() -> None:
    from typing import get_args

    assert set(KINDS) == set(get_args(model.Kind))
