"""Ids of topics and of the cluster."""

from mqgateway.gateway.kafka.ids import (
    PRODUCER_ID_BITS,
    id_of_text,
    named_id,
    new_id,
    new_producer_id,
    text_of_id,
)


def test_an_id_is_22_characters_and_back() -> None:
    value = new_id()
    assert len(value) == 16 and value != new_id()
    assert len(text_of_id(value)) == 22 and id_of_text(text_of_id(value)) == value


def test_the_same_name_has_the_same_id() -> None:
    assert named_id("a") == named_id("a") != named_id("b")


def test_other_text_is_no_id() -> None:
    assert id_of_text("") is id_of_text("abc") is id_of_text("?" * 22) is None


def test_ids_of_producers_are_random_and_not_negative() -> None:
    ids = [new_producer_id() for _ in range(1000)]
    assert len(set(ids)) == 1000 and all(0 <= one < 1 << PRODUCER_ID_BITS for one in ids)
