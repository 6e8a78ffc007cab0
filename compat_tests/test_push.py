"""Push consumers: concurrent and ordered, clustering and broadcasting, with tags."""

from __future__ import annotations

import time

import pytest

from compat_tests.support.driver import PushConsumer, Received, message
from compat_tests.support.peers import Peer
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.overlap


def bodies(received: list[Received]) -> list[str]:
    """Return the bodies, sorted."""
    return sorted(one.body for one in received)


def test_members_of_a_group_share_the_messages(peer: Peer) -> None:
    """In a cluster each message goes to one member."""
    topic, group = peer.topic("shared", 8), peer.name("sharers")
    with peer.push(group, {topic: "*"}) as first, peer.push(group, {topic: "*"}) as second:
        wait_until(lambda: are_shared(topic, first, second), 60, f"4 queues of {topic} each", 0.3)
        with peer.producer() as producer:
            producer.send([message(topic, f"{i:03}") for i in range(64)])
        mine, yours = first.collect(32), second.collect(32)
    places = sorted((one.queue_id, one.queue_offset, one.body) for one in mine + yours)
    assert places == sorted(set(places)), "no message came twice"
    assert bodies(mine + yours) == [f"{i:03}" for i in range(64)]
    assert len(mine) == len(yours) == 32


def are_shared(topic: str, first: PushConsumer, second: PushConsumer) -> bool:
    """Return True if each consumer holds four queues that the other does not hold."""
    mine, yours = first.assigned(topic), second.assigned(topic)
    return len(mine) == len(yours) == 4 and not mine & yours


def wait_for_queues(topic: str, consumer: PushConsumer, count: int) -> None:
    """Wait until a consumer holds that many queues."""
    wait_until(lambda: len(consumer.assigned(topic)) == count, 60, f"{count} queues of {topic}", 0.3)


def test_each_group_receives_everything(peer: Peer) -> None:
    """Groups do not take messages from each other."""
    topic = peer.topic("groups")
    names = [peer.name("group"), peer.name("group")]
    with peer.push(names[0], {topic: "*"}) as first, peer.push(names[1], {topic: "*"}) as second:
        with peer.producer() as producer:
            producer.send([message(topic, f"{i:03}") for i in range(20)])
        assert bodies(first.collect(20)) == bodies(second.collect(20)) == [f"{i:03}" for i in range(20)]


def test_broadcast_reaches_every_member(peer: Peer) -> None:
    """In broadcasting each member receives everything and keeps its own offsets."""
    topic, group = peer.topic("broadcast"), peer.name("broadcast_readers")
    options = {"model": "BROADCASTING"}
    with (
        peer.push(group, {topic: "*"}, **options) as first,
        peer.push(group, {topic: "*"}, **options) as second,
    ):
        wait_for_queues(topic, first, 4)
        wait_for_queues(topic, second, 4)
        with peer.producer() as producer:
            producer.send([message(topic, f"{i:03}") for i in range(20)])
        assert bodies(first.collect(20)) == bodies(second.collect(20)) == [f"{i:03}" for i in range(20)]


@pytest.mark.every_variant
def test_ordered_consumer_keeps_the_order_of_a_queue(peer: Peer) -> None:
    """Queues are locked; each is consumed in order, also when a delivery is refused and repeated."""
    topic, group = peer.topic("ordered"), peer.name("ordered_readers")
    options = {"listener": "ordered", "failFirst": 1}
    with peer.producer() as producer, peer.push(group, {topic: "*"}, **options) as consumer:
        queues = producer.queues(topic)
        for queue in queues:
            producer.send_to(queue, [message(topic, f"{queue.queue_id}-{i}") for i in range(3)])
        received = consumer.collect(len(queues) * 6)
    for queue in queues:
        deliveries = [(one.body, one.delivery) for one in received if one.queue_id == queue.queue_id]
        expected = [(f"{queue.queue_id}-{i}", times) for i in range(3) for times in (1, 2)]
        assert deliveries == expected
    assert all(one.reconsume_times == one.delivery - 1 for one in received)


def test_ordered_group_shares_locked_queues(peer: Peer) -> None:
    """Two ordered members hold different queues; when one leaves, the other takes over all of them."""
    topic, group = peer.topic("locks"), peer.name("lockers")
    with peer.producer() as producer, peer.push(group, {topic: "*"}, listener="ordered") as first:
        with peer.push(group, {topic: "*"}, listener="ordered") as second:
            wait_for_queues(topic, first, 2)
            wait_for_queues(topic, second, 2)
            producer.send([message(topic, f"{i:03}") for i in range(16)])
            early = first.collect(8), second.collect(8)
            assert bodies(early[0] + early[1]) == [f"{i:03}" for i in range(16)]
            assert not {one.queue_id for one in early[0]} & {one.queue_id for one in early[1]}
        wait_for_queues(topic, first, 4)
        producer.send([message(topic, f"{i:03}") for i in range(100, 116)])
        late = first.collect(24)
    assert bodies(late)[8:] == [f"{i:03}" for i in range(100, 116)]


@pytest.mark.every_variant
def test_tags_choose_messages(peer: Peer) -> None:
    """``A || C`` receives those two tags and nothing else; tags of equal hash are distinguished."""
    topic = peer.topic("tags")
    tags = ["A", "B", "C", "AaAa", "BBBB", None]
    groups = [peer.name("tags_a_c"), peer.name("tags_hash"), peer.name("tags_all")]
    with (
        peer.push(groups[0], {topic: "A || C"}) as some,
        peer.push(groups[1], {topic: "AaAa"}) as hashed,
        peer.push(groups[2], {topic: "*"}) as everything,
        peer.producer() as producer,
    ):
        for i in range(4):
            producer.send([message(topic, f"{tag}-{i}", tags=tag) for tag in tags])
        assert bodies(everything.collect(24)) == sorted(f"{tag}-{i}" for tag in tags for i in range(4))
        assert bodies(some.collect(8)) == sorted(f"{tag}-{i}" for tag in "AC" for i in range(4))
        assert bodies(hashed.collect(4)) == [f"AaAa-{i}" for i in range(4)]
        time.sleep(1)
        assert (len(some.collect(8)), len(hashed.collect(4))) == (8, 4)


def test_one_consumer_of_two_topics(peer: Peer) -> None:
    """Each topic has a subscription of its own."""
    first, second = peer.topic("two_a"), peer.topic("two_b")
    subscriptions = {first: "*", second: "X"}
    with peer.push(peer.name("two_readers"), subscriptions) as consumer, peer.producer() as producer:
        for tag in ("X", "Y"):
            producer.send([message(topic, f"{topic}-{tag}", tags=tag) for topic in (first, second)])
        received = consumer.collect(3)
    assert bodies(received) == sorted([f"{first}-X", f"{first}-Y", f"{second}-X"])


def test_new_group_from_last_offset_of_a_young_topic_reads_everything(peer: Peer) -> None:
    """A queue that still has its first message gives a new group offset 0, whatever the client requests."""
    topic = peer.topic("from_last")
    with peer.producer() as producer:
        producer.send([message(topic, f"{i}") for i in range(8)])
        options = {"from": "CONSUME_FROM_LAST_OFFSET"}
        with peer.push(peer.name("from_last_readers"), {topic: "*"}, **options) as consumer:
            assert bodies(consumer.collect(8)) == [f"{i}" for i in range(8)]


def test_new_client_resumes_from_offsets_of_its_group(peer: Peer) -> None:
    """A new client of a known group receives only the messages sent in between."""
    topic, group = peer.topic("resume"), peer.name("resumers")
    with peer.producer() as producer:
        producer.send([message(topic, f"old-{i}") for i in range(8)])
        with peer.push(group, {topic: "*"}) as consumer:
            assert len(consumer.collect(8)) == 8
        producer.send([message(topic, f"new-{i}") for i in range(8)])
        with peer.push(group, {topic: "*"}) as consumer:
            consumer.collect(8)
            time.sleep(1)
            assert bodies(consumer.collect(8)) == [f"new-{i}" for i in range(8)]
