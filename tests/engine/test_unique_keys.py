"""Unique keys are distinct, and read from properties as parsing reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import parse_properties
from mqgateway.engine.unique_keys import UniqueKeys, lone_unique_key


@given(
    st.lists(st.sampled_from(["UNIQ_KEY", "TAGS", "KEYS", "WAIT", "x", "é", "\x01", "\x02", "\x01a\x02"])),
    st.binary(max_size=3),
)
def test_lone_unique_key_is_the_parsed_one(fragments: list[str], end: bytes) -> None:
    text = "".join(fragments).encode() + end
    found = lone_unique_key(text)
    if found is not None:
        properties = parse_properties(text.decode("utf-8", "replace"))
        assert properties["UNIQ_KEY"].encode() == found
        assert not properties.keys() & {"TAGS", "KEYS"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (b"UNIQ_KEY\x01AB\x02WAIT\x01true\x02", b"AB"),
        (b"WAIT\x01true\x02UNIQ_KEY\x01AB", b"AB"),
        (b"UNIQ_KEY\x01AB\x02TAGS\x01T", None),
        (b"KEYS\x01k\x02UNIQ_KEY\x01AB", None),
        (b"UNIQ_KEY\x01AB\x02__KPID\x017:0:0:1", None),
        (b"WAIT\x01true", None),
        (b"", None),
    ],
)
def test_lone_unique_key_is_found_among_other_properties(text: bytes, key: bytes | None) -> None:
    assert lone_unique_key(text) == key


def test_unique_keys_differ_and_have_the_standards_length() -> None:
    keys = UniqueKeys(b"\x7f\x00\x00\x01", pid=70000, salt=5, month_start_millis=0)
    made = [keys.next(1000) for _ in range(100)]
    assert len(set(made)) == 100
    assert {len(key) for key in made} == {32}
    assert made[0].startswith("7F0000011170")
