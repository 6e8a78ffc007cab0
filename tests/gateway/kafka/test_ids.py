"""Ids of topics and of the cluster."""

from mqgateway.gateway.kafka.ids import id_of_text, named_id, new_id, text_of_id


def test_an_id_is_22_characters_and_back() -> None:
    value = new_id()
    assert len(value) == 16 and value != new_id()
    assert len(text_of_id(value)) == 22 and id_of_text(text_of_id(value)) == value


def test_the_same_name_has_the_same_id() -> None:
    assert named_id("a") == named_id("a") != named_id("b")


def test_other_text_is_no_id() -> None:
    assert id_of_text("") is id_of_text("abc") is id_of_text("?" * 22) is None
