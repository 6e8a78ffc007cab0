"""Defaults of a new message."""

from mqgateway.gateway.broker.operations import ANY_QUEUE, NewMessage


def test_new_message_leaves_the_queue_to_the_broker_and_shares_no_properties() -> None:
    first, second = NewMessage("T", b"x", 1), NewMessage("T", b"x", 1)
    assert first.queue_id == ANY_QUEUE < 0
    first.properties["KEYS"] = "k"
    assert second.properties == {}
