"""Queries of messages by offset id, by unique key, and by key."""

from __future__ import annotations

import time

import pytest

from compat_tests.support.driver import ClientError, message
from compat_tests.support.peers import Peer
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.overlap


@pytest.mark.every_variant
def test_messages_are_found_by_id_and_key(peer: Peer) -> None:
    """All three queries find the same message; keys of equal hash are distinguished."""
    topic = peer.topic("query")
    began = int(time.time() * 1000) - 60_000
    with peer.producer() as producer:
        keys = ["AaAa x", "BBBB", "AaAa y"]
        results = producer.send([message(topic, f"{i}", keys=key, tags="T") for i, key in enumerate(keys)])
        by_id = producer.view(topic, results[0].offset_msg_id)
        assert by_id is not None
        assert (by_id.body, by_id.unique_key, by_id.tags) == ("0", results[0].msg_id, "T")
        assert (by_id.queue_id, by_id.queue_offset) == (results[0].queue.queue_id, results[0].queue_offset)

        def found(key: str) -> list[str]:
            try:
                hits = producer.query(topic, key, began, int(time.time() * 1000) + 60_000)
            except ClientError as failure:
                assert "no message" in failure.message or failure.code in (17, 208), failure
                return []
            return sorted(one.body for one in hits)

        wait_until(lambda: found("AaAa") == ["0", "2"], 20, "two messages of a key", 0.3)
        assert found("BBBB") == ["1"]
        assert found("y") == ["2"]
        assert found("nothing") == []
        by_unique_key = producer.view(topic, results[2].msg_id)
        assert by_unique_key is not None
        assert (by_unique_key.body, by_unique_key.physical_offset >= 0) == ("2", True)


def test_unknown_offset_id_is_an_error(peer: Peer) -> None:
    """The client throws an exception, and returns no message."""
    topic = peer.topic("unknown_id")
    with peer.producer() as producer:
        [result] = producer.send([message(topic, "only")])
        beyond = result.offset_msg_id[:16] + "00000FFFFFFFFFFF"
        with pytest.raises(ClientError):
            producer.view(topic, beyond)
