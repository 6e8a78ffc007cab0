"""Defaults of a new message."""

from mqgateway.gateway.broker.new_message import ANY_QUEUE, NewMessage


def test_new_message_leaves_the_queue_to_the_broker_and_shares_no_properties() -> None:
    first, second = NewMessage("T", b"x", 1), NewMessage("T", b"x", 1)
    assert first.queue_id == ANY_QUEUE < 0
    first.properties["KEYS"] = "k"
    assert second.properties == {}
    assert (first.is_counted, first.reconsume_times, first.max_reconsume_times) == (False, 0, None)
    assert first.default_topic == ""
