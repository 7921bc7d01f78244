"""Records: checked at the door, and kind to what a newer writer added."""

import dataclasses
from enum import Enum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record, StoredRecord


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Wheel(StoredRecord):
    size_in_mm: int
    spare: bool = False


class Cart(StoredRecord):
    name: str
    colour: Colour = Colour.RED
    kind: Literal["big", "small"] = "big"
    load: float | None = None
    wheels: tuple[Wheel, ...] = ()
    by_place: dict[str, Wheel] = dataclasses.field(default_factory=dict)


class Order(Record):
    item: str


def test_a_record_reads_camel_case_and_writes_canonical_json() -> None:
    cart = Cart.from_bytes(b'{"wheels": [{"sizeInMm": 5}], "name": "c", "colour": "blue"}', "cart.json")

    assert cart == Cart(name="c", colour=Colour.BLUE, wheels=(Wheel(size_in_mm=5),))
    assert cart.to_bytes() == (
        b'{"byPlace":{},"colour":"blue","kind":"big","name":"c","wheels":[{"sizeInMm":5,"spare":false}]}\n'
    )


extra = st.dictionaries(st.text("xyz", min_size=1), st.integers(0, 9) | st.lists(st.integers(0, 9)))


@given(extra, extra, extra)
def test_unknown_fields_are_kept_at_every_depth(
    top: dict[str, object], listed: dict[str, object], mapped: dict[str, object]
) -> None:
    value = {
        **top,
        "name": "c",
        "wheels": [{"sizeInMm": 1, "spare": True, **listed}],
        "byPlace": {"left": {"sizeInMm": 2, "spare": False, **mapped}},
        "colour": "red",
        "kind": "small",
        "load": 1.5,
    }

    assert Cart.from_value(value, "cart").changed(name="c").plain() == value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "cart: name is missing"),
        ([], "cart should be an object"),
        ({"name": 1}, "cart: name should be text"),
        ({"name": "c", "kind": "huge"}, "cart: kind should be one of big, small"),
        ({"name": "c", "colour": "green"}, "cart: colour should be one of red, blue"),
        ({"name": "c", "wheels": [{"sizeInMm": True}]}, "cart: wheels[0]: sizeInMm should be a whole number"),
        ({"name": "c", "wheels": {}}, "cart: wheels should be a list"),
        ({"name": "c", "byPlace": {"left": 3}}, "cart: byPlace.left should be an object"),
        ({"name": "c", "load": "heavy"}, "cart: load should be a number"),
    ],
)
def test_a_value_of_the_wrong_form_is_refused_by_place(value: object, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        Cart.from_value(value, "cart")

    assert refused.value.message == words


def test_a_plain_record_refuses_fields_it_does_not_know() -> None:
    with pytest.raises(Invalid) as refused:
        Order.from_value({"item": "x", "zeal": 1}, "order")

    assert refused.value.message == "order: zeal is not known"


def test_a_file_that_does_not_parse_is_named_and_the_way_out_told() -> None:
    with pytest.raises(Invalid) as refused:
        Cart.from_bytes(b"<<<<<<<", "cart.json")

    assert refused.value.message.startswith("cart.json is not valid JSON")
    assert refused.value.hint == "it is left as it is; repair it by hand"


def test_a_record_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Order(item="x").item = "y"  # type: ignore[misc]


class Empty(Record):
    """Nothing at all."""


def test_records_are_compared_hashed_and_shown_as_plain_dataclasses_are() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Plain:
        axle: str
        size: int
        secret: str = dataclasses.field(default="", repr=False)

    class Made(Record):
        axle: str
        size: int
        secret: str = dataclasses.field(default="", repr=False)

    one, same, another = (Made(axle="a", size=size, secret="s") for size in (1, 1, 2))

    assert repr(one) == repr(Plain(axle="a", size=1, secret="s")).replace("Plain", "Made")
    assert (one == same, one == another, one != another, one == "a") == (True, False, True, False)
    assert {one: 1}[same] == 1
    assert (Empty() == Empty(), hash(Empty()) == hash(Empty()), repr(Empty())) == (True, True, "Empty()")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Made(axle=["a"], size=1))  # type: ignore[arg-type]


def test_records_of_two_kinds_are_never_the_same() -> None:
    class Left(Record):
        number: float

    class Right(Left):
        pass

    nan = float("nan")

    assert Left(number=1) != Right(number=1)
    assert Left(number=nan) == Left(number=nan), "as a tuple of the same values is"
