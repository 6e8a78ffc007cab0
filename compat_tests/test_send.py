"""Every way to send, seen by the sender and by a consumer."""

from __future__ import annotations

import pytest

from compat_tests.driver import message
from compat_tests.peers import Peer

pytestmark = pytest.mark.overlap


@pytest.mark.every_variant
def test_sync_send_is_received_as_sent(peer: Peer) -> None:
    """Body, tags, keys, flag, user properties and the queue offset arrive; ids are of the standard's form."""
    topic = peer.topic("sync")
    with peer.producer() as producer, peer.push(peer.name("sync_readers"), {topic: "*"}) as consumer:
        fields = {"tags": "TagA", "keys": "k1 k2", "flag": 7, "properties": {"colour": "blau", "größe": "µ"}}
        results = producer.send([message(topic, f"body {i} äöü", **fields) for i in range(8)])
        assert [result.status for result in results] == ["SEND_OK"] * 8
        assert {len(result.offset_msg_id) for result in results} == {32}
        received = {one.unique_key: one for one in consumer.collect(8)}
    assert len(received) == 8
    for i, result in enumerate(results):
        one = received[result.msg_id]
        assert one.body == f"body {i} äöü"
        assert (one.tags, one.keys, one.flag) == ("TagA", "k1 k2", 7)
        assert one.properties["colour"] == "blau"
        assert one.properties["größe"] == "µ"
        assert (one.queue_id, one.queue_offset) == (result.queue.queue_id, result.queue_offset)
        assert one.broker_name == peer.server.broker_name
        assert one.born_timestamp <= one.store_timestamp + 1000
