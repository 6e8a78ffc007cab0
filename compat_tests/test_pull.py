"""Pull and lite-pull consumers: every answer a pull can have, and offsets stored on the server."""

from __future__ import annotations

import threading
import time

import pytest

from compat_tests.support.driver import Pulled, Queue, message
from compat_tests.support.peers import Peer
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.overlap


def filled_queue(peer: Peer, what: str, tags: str = "T") -> Queue:
    """Return the only queue of a new topic, filled with the messages 0 to 9."""
    topic = peer.topic(what, 1)
    with peer.producer() as producer:
        [queue] = producer.queues(topic)
        producer.send_to(queue, [message(topic, f"{i}", tags=tags) for i in range(10)])
    return queue


@pytest.mark.every_variant
def test_pull_answers(peer: Peer) -> None:
    """Found, nothing new, nothing that matches, and offsets out of range; each with the next offset."""
    queue = filled_queue(peer, "pull")
    with peer.pull(peer.name("pullers")) as consumer:
        found = consumer.pull(queue, 0, max=4)
        assert (found.status, found.next_offset, found.min_offset, found.max_offset) == ("FOUND", 4, 0, 10)
        assert [one.body for one in found.messages] == ["0", "1", "2", "3"]
        assert [one.queue_offset for one in found.messages] == [0, 1, 2, 3]
        rest = consumer.pull(queue, 4)
        assert [one.body for one in rest.messages] == ["4", "5", "6", "7", "8", "9"]
        assert brief(consumer.pull(queue, 10)) == ("NO_NEW_MSG", 10, 0, 10)
        assert brief(consumer.pull(queue, 0, expression="OTHER")) == ("NO_MATCHED_MSG", 10, 0, 10)
        assert brief(consumer.pull(queue, 11)) == ("OFFSET_ILLEGAL", 10, 0, 10)
        assert brief(consumer.pull(queue, 500)) == ("OFFSET_ILLEGAL", 10, 0, 10)


def brief(pulled: Pulled) -> tuple[str, int, int, int]:
    """Return status and offsets."""
    return pulled.status, pulled.next_offset, pulled.min_offset, pulled.max_offset


def test_pull_waits_for_an_arrival(peer: Peer) -> None:
    """A parked pull is answered when a message arrives, long before its deadline."""
    queue = filled_queue(peer, "longpoll")
    answers: list[tuple[float, Pulled]] = []
    with peer.pull(peer.name("long_pullers")) as consumer, peer.producer() as producer:

        def wait() -> None:
            pulled = consumer.pull(queue, 10, block=True)
            answers.append((time.monotonic(), pulled))

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(2)
        assert not answers
        producer.send_to(queue, [message(queue.topic, "news", tags="T")])
        sent = time.monotonic()
        thread.join(30)
    [(answered, pulled)] = answers
    assert [one.body for one in pulled.messages] == ["news"]
    assert answered - sent < 5


def test_offsets_of_a_queue(peer: Peer) -> None:
    """First, last, by time, and when the first message was stored."""
    queue = filled_queue(peer, "offsets")
    with peer.pull(peer.name("offset_readers")) as consumer:
        messages = consumer.pull(queue, 0).messages
        assert (consumer.min_offset(queue), consumer.max_offset(queue)) == (0, 10)
        assert consumer.earliest_store_time(queue) == messages[0].store_timestamp
        assert consumer.search_offset(queue, 0) == 0
        assert consumer.search_offset(queue, messages[0].store_timestamp) == 0
        first_of_last = min(
            one.queue_offset for one in messages if one.store_timestamp == messages[-1].store_timestamp
        )
        assert consumer.search_offset(queue, messages[-1].store_timestamp) == first_of_last
        assert consumer.search_offset(queue, messages[-1].store_timestamp + 100_000) == 10


def test_consume_offset_is_kept_by_the_server(peer: Peer) -> None:
    """The next client of a group reads the offset that the first one committed."""
    queue, group = filled_queue(peer, "kept"), peer.name("keepers")
    with peer.pull(group) as consumer:
        assert consumer.fetch_offset(queue) == 0
        assert consumer.pull(queue, 0, max=1).status == "FOUND", "the first pull makes the group known"
        consumer.update_offset(queue, 7)
        wait_until(lambda: consumer.fetch_offset(queue) == 7, 10, "the offset is committed", 0.2)
    with peer.pull(group) as consumer:
        assert consumer.fetch_offset(queue) == 7


def test_lite_pull_with_assigned_queues_and_seek(peer: Peer) -> None:
    """Queues are assigned by hand and read from the sought position."""
    queue = filled_queue(peer, "assigned")
    with peer.lite(peer.name("assigners"), autoCommit=False) as consumer:
        assert consumer.queues(queue.topic) == [queue]
        consumer.assign([queue])
        consumer.seek(queue, "begin")
        assert [one.body for one in consumer.poll(10)][:10] == [f"{i}" for i in range(10)]
        consumer.seek(queue, 6)
        assert [one.body for one in consumer.poll(4)] == ["6", "7", "8", "9"]
        consumer.seek(queue, "begin")
        assert [one.body for one in consumer.poll(10)] == [f"{i}" for i in range(10)]
        assert consumer.offset_for_timestamp(queue, 0) == 0


def test_lite_pull_by_subscription_commits_and_resumes(peer: Peer) -> None:
    """The next member of a group does not read committed messages again."""
    topic, group = peer.topic("lite"), peer.name("lites")
    subscriptions = {topic: "A"}
    with peer.producer() as producer:
        for tag in ("A", "B"):
            producer.send([message(topic, f"{tag}{i}", tags=tag) for i in range(8)])
        with peer.lite(group, subscriptions=subscriptions, autoCommit=False) as consumer:
            assert sorted(one.body for one in consumer.poll(8)) == [f"A{i}" for i in range(8)]
            consumer.commit()
            time.sleep(0.5)
        producer.send([message(topic, f"A{i}", tags="A") for i in range(8, 12)])
        with peer.lite(group, subscriptions=subscriptions, autoCommit=False) as consumer:
            assert sorted(one.body for one in consumer.poll(4)) == ["A10", "A11", "A8", "A9"]
            assert consumer.poll(1, 1) == []
