"""Group ids as names of RocketMQ's groups: unique, and legal."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.kafka.group_names import kafka_group, store_group


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_every_id_has_a_name_of_its_own(group_id: str) -> None:
    name = store_group(group_id)
    assert kafka_group(name) == group_id
    assert all(char.isascii() and (char.isalnum() or char in "%|_-") for char in name)


def test_names_that_are_legal_stay_and_others_are_escaped() -> None:
    assert store_group("my-group_1|a") == "my-group_1|a"
    assert store_group("a.b%c é") == "a%2Eb%25c%20%C3%A9"


def test_names_that_no_id_gives_have_no_id() -> None:
    for name in ("%RETRY%g", "a%2eb", "a%41", "%FF", "a.b"):
        assert kafka_group(name) is None
