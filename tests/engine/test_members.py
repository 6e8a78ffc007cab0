import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.members import LONG_BITS, read, read_name, read_texts


def test_missing_and_null_members_have_their_defaults() -> None:
    for entry in ({}, {"a": None}):
        assert read(entry, "a", 5) == 5
        assert read(entry, "a", "x") == "x"
        assert read(entry, "a", True) is True
        assert read_texts(entry, "a") == {}


@pytest.mark.parametrize(
    ("value", "default"),
    [("1", 1), (True, 1), (1, True), (1.0, 1), (1, "1"), ([], {"a": 1}), ({}, ["a"]), ([], "")],
)
def test_no_type_passes_for_another(value: object, default: int) -> None:
    with pytest.raises(ConfigError, match="a is no"):
        read({"a": value}, "a", default)


def test_whole_numbers_are_javas() -> None:
    for number in (2**31 - 1, -(2**31)):
        assert read({"a": number}, "a", 0) == number
    for number in (2**31, -(2**31) - 1):
        assert read({"a": number}, "a", 0, LONG_BITS) == number
        with pytest.raises(ConfigError, match="32 bits"):
            read({"a": number}, "a", 0)


@pytest.mark.parametrize("entry", [None, 5, "name", [], {}, {"name": None}, {"name": 5}])
def test_an_entry_has_a_name(entry: object) -> None:
    with pytest.raises(ConfigError, match="name"):
        read_name(entry, "name")
    assert read_name({"name": ""}, "name") == ""


def test_objects_of_texts_hold_nothing_else() -> None:
    given = {"a": {"b": "c"}}
    found = read_texts(given, "a")
    found["d"] = "e"
    assert given == {"a": {"b": "c"}}
    for bad in ({"b": 1}, {1: "b"}, {"b": None}):
        with pytest.raises(ConfigError, match="a holds"):
            read_texts({"a": bad}, "a")
