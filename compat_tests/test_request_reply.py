"""Request and reply: a producer asks, a consumer answers, the broker brings the answer to who asked."""

from __future__ import annotations

import pytest

from compat_tests.support.driver import ClientError, message
from compat_tests.support.peers import Peer

pytestmark = pytest.mark.overlap

LONG = "long " * 2000
"""More than what clients send uncompressed."""


@pytest.mark.every_variant
def test_requests_are_answered(peer: Peer) -> None:
    """Short and long ones, each by its own reply; who asked need not be who asked before."""
    topic, group = peer.topic("requests", 2), peer.name("repliers")
    with peer.producer() as producer:
        producer.send([message(topic, "to be received, not answered")])
    with peer.replier(group, topic) as replier:
        replier.collect(1)
        for _ in range(2):
            with peer.requester(peer.name("requesters")) as requester:
                for body in ("one", "two", LONG):
                    reply = requester.request(message(topic, body))
                    assert reply.body == f"re: {body}"
                    assert reply.properties["MSG_TYPE"] == "reply"
                    assert int(reply.properties["ARRIVE_TIME"]) > 0
                    assert int(reply.properties["PUSH_REPLY_TIME"]) > 0


def test_a_request_that_nobody_answers(peer: Peer) -> None:
    """The time is up, and the next request is answered all the same."""
    topic, group = peer.topic("silence", 2), peer.name("silent_repliers")
    with peer.producer() as producer:
        producer.send([message(topic, "to be received, not answered")])
    with peer.replier(group, topic) as replier, peer.requester(peer.name("requesters")) as requester:
        replier.collect(1)
        with pytest.raises(ClientError) as caught:
            requester.request(message(topic, "hush", properties={"silent": "yes"}), 1500)
        assert caught.value.type == "RequestTimeoutException"
        assert requester.request(message(topic, "speak")).body == "re: speak"
