"""Looking up says what taking apart says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import parse_properties
from mqgateway.engine.store.properties_text import PropertiesText

FRAGMENTS = st.sampled_from(["a", "b", "aa", "é", "x", "\1", "\2", "a\1x\2", "\2b\1a\1y", "b\1\2"])
NAMES = ["a", "b", "aa", "é", "", "x", "a\1x", "b\2"]


@given(st.lists(FRAGMENTS).map("".join), st.permutations(NAMES))
def test_each_property_is_found_as_parsing_finds_it(text: str, names: list[str]) -> None:
    parsed, looked_up = parse_properties(text), PropertiesText(text)
    for name in names:
        assert PropertiesText(text).get(name) == parsed.get(name)
        assert looked_up.get(name, "none") == parsed.get(name, "none")
        assert (name in PropertiesText(text)) == (name in parsed)
    assert dict(looked_up) == parsed
    assert len(PropertiesText(text)) == len(parsed)
    assert [looked_up.get(name) for name in names] == [parsed.get(name) for name in names]


def test_name_with_a_separator_is_not_there() -> None:
    assert PropertiesText("b\2\1a").get("b\2") is None
    assert PropertiesText("a\1x\1v").get("a\1x") is None


def test_the_last_of_a_name_that_has_a_value_counts() -> None:
    assert PropertiesText("a\0011\2a\0012\2").get("a") == "2"
    assert PropertiesText("a\0011\2a\1\2").get("a") == "1"
    assert PropertiesText("b\1a\0015\2").get("a") is None
