"""Declared headers: what the declaration makes, and what happens to fields that are missing or unreadable."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec import fields
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.codec.fields import (
    Bool,
    Boundary,
    BoundaryType,
    Header,
    Int,
    Long,
    TopicRequestHeader,
    camel_case,
    request_header,
    wire,
)


class Example(TopicRequestHeader, code=(990001, 990002)):
    """One field of every kind."""

    topic: str
    queue_id: Int
    born_timestamp: Long
    order: Bool
    client_id: str = wire("clientID")
    is_force: Bool = False
    count: Int = 0
    tags: str | None = None
    max_num: Int | None = None
    unit_mode: Bool | None = None
    boundary_type: Boundary | None = None
    session: str | None = wire("SID", default=None)


class ExampleShort(Example, code=990003, spelling={"topic": "b", "max_num": "l"}):
    """`Example` with two short names."""


class ExampleStrict(Example, is_strict=True):
    """`Example` in which no field may be unreadable."""


def in_python(cls: type[Header]) -> Callable[[Mapping[str, str]], Header]:
    """Return `decode` as it is without the extension."""
    names: dict[str, Any] = {"cls": cls, "new": cls.__new__, "read": fields._read_each}
    for field in cls.__fields__:
        names[f"texts_{field.type.name}"] = field.type.texts
    exec("\n".join(fields._decode_source(cls.__fields__)), names)
    decode: Callable[[Mapping[str, str]], Header] = names["decode"]
    return decode


FULL = {
    "topic": "T",
    "queueId": "3",
    "bornTimestamp": "1700000000000",
    "order": "true",
    "clientID": "c@1",
    "isForce": "true",
    "count": "5",
    "tags": "A||B",
    "maxNum": "-7",
    "unitMode": "false",
    "boundaryType": "UPPER",
    "SID": "s",
    "ns": "n",
    "nsd": "true",
    "bname": "broker-a",
    "oway": "false",
    "lo": "false",
}
LEAST = {"topic": "T", "queueId": "3", "bornTimestamp": "5", "order": "false", "clientID": "c@1"}


def test_every_field_is_read_as_its_type() -> None:
    header = Example.decode(FULL)
    assert header == Example(
        topic="T",
        queue_id=3,
        born_timestamp=1700000000000,
        order=True,
        client_id="c@1",
        is_force=True,
        count=5,
        tags="A||B",
        max_num=-7,
        unit_mode=False,
        boundary_type=BoundaryType.UPPER,
        session="s",
        ns="n",
        nsd=True,
        bname="broker-a",
        oway=False,
        lo=False,
    )
    assert header.encode() == FULL


def test_fields_that_may_be_missing_have_their_defaults() -> None:
    header = Example.decode(LEAST)
    assert header == Example(topic="T", queue_id=3, born_timestamp=5, order=False, client_id="c@1")
    assert (header.tags, header.max_num, header.unit_mode, header.lo) == (None, None, None, None)
    assert (header.is_force, header.count) == (False, 0)


def test_boxed_values_without_value_are_not_written_primitives_are() -> None:
    assert Example.decode(LEAST).encode() == {**LEAST, "isForce": "false", "count": "0"}


@pytest.mark.parametrize("name", sorted(LEAST))
def test_a_missing_required_field_is_named(name: str) -> None:
    with pytest.raises(HeaderError) as caught:
        Example.decode({key: value for key, value in LEAST.items() if key != name})
    assert caught.value.field == name
    assert caught.value.remark == f"the custom field <{name}> is null"


@pytest.mark.parametrize(
    "value", ["", " 3", "3 ", "1_0", "x", "-", "+-3", "0x3", "3.0", str(2**31), str(-(2**31) - 1)]
)
@pytest.mark.parametrize(("cls", "name"), [("Example", "queueId"), ("ExampleStrict", "maxNum")])
def test_an_unreadable_int_is_named_with_its_value(cls: str, name: str, value: str) -> None:
    with pytest.raises(HeaderError) as caught:
        {"Example": Example, "ExampleStrict": ExampleStrict}[cls].decode({**LEAST, name: value})
    assert caught.value.field == name
    assert caught.value.remark == f"the custom field <{name}> is not of type int: {value!r}"


@pytest.mark.parametrize("value", ["", "x", "1.5", str(2**31)])
def test_unreadable_field_with_a_default_counts_as_missing(value: str) -> None:
    spoiled = {**LEAST, "maxNum": value, "count": value, "tags": "t"}
    for decode in (Example.decode, in_python(Example)):
        assert decode(spoiled) == Example.decode({**LEAST, "tags": "t"})


def test_a_long_bad_value_is_cut_short_in_the_remark() -> None:
    with pytest.raises(HeaderError) as caught:
        Example.decode({**LEAST, "queueId": "9" * 10_000})
    assert len(caught.value.remark) < 200


@given(st.integers(-(2**63), 2**63 - 1))
def test_longs_have_64_bits(value: int) -> None:
    header = Example.decode({**LEAST, "bornTimestamp": str(value)})
    assert header.born_timestamp == value
    assert header.encode()["bornTimestamp"] == str(value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_longs_have_no_more(value: int) -> None:
    with pytest.raises(HeaderError, match="is not of type long"):
        Example.decode({**LEAST, "bornTimestamp": str(value)})


def test_a_plus_sign_is_a_number_to_java() -> None:
    assert Example.decode({**LEAST, "queueId": "+12"}).queue_id == 12


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("TRUE", True), ("false", False), ("1", False), ("", False)]
)
def test_bools_are_read_as_java_reads_them(value: str, expected: bool) -> None:
    assert Example.decode({**LEAST, "order": value}).order is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("upper", BoundaryType.UPPER), ("LOWER", BoundaryType.LOWER), ("sideways", BoundaryType.LOWER)],
)
def test_boundaries_are_read_by_name(value: str, expected: BoundaryType) -> None:
    assert Example.decode({**LEAST, "boundaryType": value}).boundary_type is expected


def test_unknown_fields_are_ignored() -> None:
    assert Example.decode({**LEAST, "Signature": "x"}) == Example.decode(LEAST)


def test_a_second_spelling_is_the_same_header_under_other_names() -> None:
    short = {**LEAST, "b": "T", "l": "5"}
    del short["topic"]
    header = ExampleShort.decode(short)
    assert isinstance(header, Example)
    assert (header.topic, header.max_num) == ("T", 5)
    assert header.encode() == {**short, "isForce": "false", "count": "0"}
    with pytest.raises(HeaderError, match="<b> is null"):
        ExampleShort.decode(LEAST)


def test_the_registry_finds_headers_by_request_code() -> None:
    assert request_header(990001) is Example
    assert request_header(990002) is Example
    assert request_header(990003) is ExampleShort
    assert request_header(990004) is None


def test_a_code_has_one_header() -> None:
    with pytest.raises(TypeError, match="990001 has two headers"):

        class Other(Header, code=990001):
            pass


def test_a_type_that_is_no_wire_type_is_a_mistake_at_once() -> None:
    with pytest.raises(TypeError, match="not a type of a header field"):

        class Wrong(Header):
            weight: float


def test_the_constructor_takes_keywords_and_wants_what_is_required() -> None:
    with pytest.raises(TypeError, match="queue_id"):
        Example(topic="T", born_timestamp=1, order=True, client_id="c")  # type: ignore[call-arg]


def test_a_header_without_fields() -> None:
    class Empty(Header):
        pass

    assert Empty.decode({"a": "b"}) == Empty()
    assert Empty().encode() == {}


def test_the_repr_shows_what_differs_from_the_default() -> None:
    assert repr(Example.decode(LEAST)) == (
        "Example(topic='T', queue_id=3, born_timestamp=5, order=False, client_id='c@1')"
    )


def test_camel_case() -> None:
    assert camel_case("default_topic_queue_nums") == "defaultTopicQueueNums"
    assert camel_case("topic") == "topic"
