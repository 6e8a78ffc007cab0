"""Hashes of keys equal those of Java, by every method."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import java_hash
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.unique_keys import UNIQUE_KEY_LENGTHS

unique_keys = st.sampled_from(UNIQUE_KEY_LENGTHS).flatmap(
    lambda length: st.text("0123456789ABCDEF", min_size=length, max_size=length)
)


@given(st.text(max_size=40) | unique_keys, st.text("abc%", min_size=1, max_size=9))
def test_hash_equals_java_and_is_never_negative(key: str, topic: str) -> None:
    expected = abs(java_hash(f"{topic}#{key}"))
    hashes = KeyHashes()
    for _ in range(2):  # the second time from what is remembered
        assert hashes.of_key(topic, key) == (0 if expected == 1 << 31 else expected)
    assert KeyHashes().of_tags(topic, key) == KeyHashes().of_key(topic, "T#" + key)


def test_most_negative_hash_becomes_zero() -> None:
    hashes = KeyHashes()
    hashes._topics["t"] = 0x80000000
    assert hashes.of_key("t", "") == 0


def test_remembered_hashes_are_bounded() -> None:
    hashes = KeyHashes()
    for number in range(5000):
        hashes.of_tags(f"t{number}", "x")
    assert len(hashes._topics) <= 4096
    assert len(hashes._tags) <= 4096
