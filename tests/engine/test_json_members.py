from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.json_members import LONG_BITS, read, read_enum, read_name, read_texts


def test_missing_members_have_their_defaults() -> None:
    assert read({}, "a", 5) == 5
    assert read({}, "a", "x") == "x"
    assert read({}, "a", True) is True
    assert read_texts({}, "a") == {}


@pytest.mark.parametrize("null", [None, "", "null"])
def test_null_numbers_and_booleans_are_zero(null: object) -> None:
    assert read({"a": null}, "a", 5) == 0
    assert read({"a": null}, "a", True) is False
    assert read({"a": null}, "a", {"b": 1}) == {"b": 1}
    assert read({"a": null}, "a", ["b"]) == ["b"]
    assert read({"a": None}, "a", "x") == "x"


@pytest.mark.parametrize(
    ("value", "default", "found"),
    [
        ("1", 5, 1),
        (1.9, 5, 1),
        ("false", True, False),
        (1, False, True),
        (5, "", "5"),
        ({"b": 1}, [""], [{"b": 1}]),
    ],
)
def test_convertible_value_is_read(value: object, default: Any, found: object) -> None:
    assert read({"a": value}, "a", default) == found


def test_an_enum_is_one_of_its_names() -> None:
    names = ("ONE", "TWO")
    assert [read_enum({"a": value}, "a", names) for value in ("TWO", 1, "THREE", None)] == ["TWO"] * 2 + [
        None
    ] * 2
    with pytest.raises(ConfigError, match="a is not one of ONE, TWO"):
        read_enum({"a": 2}, "a", names)


@pytest.mark.parametrize(
    ("value", "default"), [("one", 1), ([], 1), ("yes", True), ([], {"a": 1}), (5, ["a"])]
)
def test_no_other_type_passes_for_another(value: object, default: int) -> None:
    with pytest.raises(ConfigError, match="a is no"):
        read({"a": value}, "a", default)


def test_whole_numbers_are_javas() -> None:
    for number in (2**31 - 1, -(2**31)):
        assert read({"a": number}, "a", 0) == number
    for number in (2**31, -(2**31) - 1):
        assert read({"a": number}, "a", 0, LONG_BITS) == number
        with pytest.raises(ConfigError, match="32 bits"):
            read({"a": number}, "a", 0)


@pytest.mark.parametrize("entry", [None, 5, "name", [], {}, {"name": None}])
def test_an_entry_has_a_name(entry: object) -> None:
    with pytest.raises(ConfigError, match="name"):
        read_name(entry, "name")
    assert read_name({"name": ""}, "name") == ""
    assert read_name({"name": 5}, "name") == "5"


def test_objects_of_texts_are_copies() -> None:
    given = {"a": {"b": "c"}}
    found = read_texts(given, "a")
    found["d"] = "e"
    assert given == {"a": {"b": "c"}}
    assert read_texts({"a": {"b": 1, 2: "c", "d": None}}, "a") == {"b": "1", "2": "c"}
