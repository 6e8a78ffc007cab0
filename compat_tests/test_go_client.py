"""The official Go client: all its features, alone and together with the official Java client."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import (
    PATIENCE_SECONDS,
    ClientError,
    Producer,
    PushConsumer,
    Received,
    Requester,
    message,
    sql,
)
from compat_tests.support.golang import GoDriver, GoPeer
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import BROKER_NAME, Server
from compat_tests.test_resets import RESET_SECONDS, tool
from compat_tests.test_transactions import COMMIT, ROLLBACK, UNKNOWN
from mqgateway.gateway.codec.codes import RequestCode

pytestmark = pytest.mark.overlap

SETTLE_SECONDS = 2
"""Longer than the client takes to record a delivery after its listener returned, or to see a new member."""
LONG = "long " * 2000
"""A body longer than clients send uncompressed."""


def go_with(kind: str, peers: Peers) -> GoPeer:
    """Return the Go client with the server of a kind."""
    driver = peers.shared("go", lambda: GoDriver(peers.runtime, peers.work))
    return GoPeer(peers.tuned(kind), driver)


def java_with(kind: str, peers: Peers) -> Peer:
    """Return the Java client with the same server."""
    return peers.with_server(peers.tuned(kind), CURRENT)


def bodies(received: Sequence[Received]) -> list[str]:
    """Return the bodies, sorted."""
    return sorted(one.body for one in received)


def test_transactions(kind: str, peers: Peers) -> None:
    """Committed ones arrive, rolled back ones do not; undecided ones are checked until they are decided."""
    go = go_with(kind, peers)
    topic = go.topic("go_transactions")
    with go.transactions(topic) as producer, go.push(go.name("go_readers"), {topic: "*"}) as consumer:
        sent = producer.send([message(topic, f"yes-{i}", tags="T", keys="k") for i in range(2)], COMMIT)
        producer.send([message(topic, f"no-{i}") for i in range(2)], ROLLBACK)
        producer.send([message(topic, body) for body in ("late yes", "late no", "never")], UNKNOWN)
        producer.decide(["late yes"], COMMIT)
        producer.decide(["late no"], ROLLBACK)
        questions = producer.questions(5)
        received = consumer.collect(3)
        assert bodies(consumer.collect(4, SETTLE_SECONDS)) == ["late yes", "yes-0", "yes-1"]
    # A server that has not handled an answer within a round checks again.
    assert set(bodies(questions)) == {"late no", "late yes", "never"}
    assert {one.topic for one in questions} == {topic}
    at_once = {one.unique_key: one for one in received if one.body != "late yes"}
    assert at_once.keys() == {result.msg_id for result in sent}
    assert {(one.tags, one.keys) for one in at_once.values()} == {("T", "k")}


def test_refused_messages(kind: str, peers: Peers) -> None:
    """A refused message is redelivered after its level's delay, and is a dead letter in the end."""
    go = go_with(kind, peers)
    topic, group = go.topic("go_refused"), go.name("go_refusers")
    # The client queries the routes of its retry topic at its start and every 30 seconds.
    go.create_topic(f"%RETRY%{group}", 1)
    wait_until(lambda: go.queues(f"%RETRY%{group}"), 20, "a retry topic")
    options = {"failFirst": 2, "maxReconsumeTimes": 1, "retryLevel": 1}
    with go.producer() as producer, go.push(group, {topic: "*"}, **options) as consumer:
        [result] = producer.send([message(topic, "refused", tags="T", properties={"p": "v"})])
        first, second = consumer.collect(2)
        wait_until(lambda: go.queues(f"%DLQ%{group}"), 60, "a dead letter", 0.5)
        with go.puller(go.name("go_undertakers"), f"%DLQ%{group}") as reader:
            [dead] = reader.poll(1)
    assert (first.reconsume_times, second.reconsume_times) == (0, 1)
    assert first.unique_key == second.unique_key == dead.unique_key == result.msg_id
    assert (second.topic, second.body, second.tags, second.properties["p"]) == (topic, "refused", "T", "v")
    assert second.store_timestamp - first.received_at >= 900
    assert (dead.topic, dead.body, dead.properties["RETRY_TOPIC"]) == (f"%DLQ%{group}", "refused", topic)


def test_a_group_of_a_go_and_a_java_member(kind: str, peers: Peers) -> None:
    """They share the queues, and the remaining member takes over those of the other."""
    go, java = go_with(kind, peers), java_with(kind, peers)
    topic, group = go.topic("go_mixed"), go.name("go_members")
    with go.producer() as producer, java.push(group, {topic: "*"}) as other:
        with go.push(group, {topic: "*"}) as one:
            rounds = itertools.count()
            wait_until(
                lambda: is_shared(go, producer, topic, next(rounds), (one, other)), 60, "two queues each"
            )
            expected = {f"{i:02}" for i in range(40)}
            producer.send([message(topic, body) for body in sorted(expected)])
            wait_until(
                lambda: {each.body for each in one.collect(0, 0) + other.collect(0, 0)} >= expected,
                PATIENCE_SECONDS,
                "all are received",
            )
        wait_until(lambda: len(other.assigned(topic)) == 4, 60, "all queues", 0.3)
        more = [f"more {i}" for i in range(8)]
        producer.send([message(topic, body) for body in more])
        wait_until(lambda: {one.body for one in other.collect(0, 0)} >= set(more), 60, "the rest is received")


def is_shared(
    go: GoPeer, producer: Producer, topic: str, number: int, members: tuple[PushConsumer, PushConsumer]
) -> bool:
    """Return True if each of the members receives from two of the four queues, and none of them twice.

    The Go client does not report which queues it holds, so a message is sent to each of them.
    """
    probe = f"probe {number}"
    for queue in go.queues(topic):
        producer.send_to(queue, [message(topic, probe)])

    def received() -> list[int]:
        return [[one.body for one in member.collect(0, 0)].count(probe) for member in members]

    wait_until(lambda: sum(received()) >= 4, 60, f"{probe} is received")
    return received() == [2, 2]


def test_direct_consumption_and_offset_reset(kind: str, peers: Peers) -> None:
    """A consumer reports the result of a directly consumed message; its offsets are reset to the start."""
    go, server = go_with(kind, peers), peers.tuned(kind)
    topic, group = go.topic("go_asked", 1), go.name("go_asked")
    with (
        tool(peers, server) as admin,
        go.producer() as producer,
        go.push(group, {topic: "*"}) as consumer,
    ):
        for number in range(2):  # the second pull carries the first offset
            [sent] = producer.send([message(topic, f"{number}")])
            consumer.collect(number + 1)
            time.sleep(SETTLE_SECONDS)
        client_id = the_member(server, group)
        direct = ("-t", topic, "-i", sent.offset_msg_id, "-g", group, "-d", client_id)
        out = admin.run("queryMsgById", *direct)
        assert "CR_SUCCESS" in out, out
        assert bodies(consumer.collect(3)) == ["0", "1", "1"]
        admin.run("resetOffsetByTime", "-g", group, "-t", topic, "-s", "1")
        assert bodies(consumer.collect(5, RESET_SECONDS)) == ["0", "0", "1", "1", "1"]


def the_member(server: Server, group: str) -> str:
    """Return the client id of the only member of a group."""
    with RawConnection(server.broker_address) as connection:
        answer = connection.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    assert answer is not None
    [client_id] = json.loads(answer.body)["consumerIdList"]
    return str(client_id)


def test_ordered_consumers(kind: str, peers: Peers) -> None:
    """Each queue is consumed in order, also when a delivery is refused and repeated."""
    go = go_with(kind, peers)
    topic = go.topic("go_ordered")
    options = {"listener": "ordered", "failFirst": 1}
    with go.producer() as producer, go.push(go.name("go_readers"), {topic: "*"}, **options) as consumer:
        for queue in go.queues(topic):
            producer.send_to(queue, [message(topic, f"{queue.queue_id}-{i}") for i in range(3)])
        received = consumer.collect(24)
    for queue_id in range(4):
        deliveries = [(one.body, one.delivery) for one in received if one.queue_id == queue_id]
        assert deliveries == [(f"{queue_id}-{i}", times) for i in range(3) for times in (1, 2)]


def test_group_resumes_from_its_offsets(kind: str, peers: Peers) -> None:
    """A Java client may be the member in between."""
    go, java = go_with(kind, peers), java_with(kind, peers)
    topic, group = go.topic("go_resumed"), go.name("go_resumers")
    with go.producer() as producer:
        for number, client in enumerate((go, java, go)):
            expected = [f"{number}-{i}" for i in range(8)]
            producer.send([message(topic, body) for body in expected])
            with client.push(group, {topic: "*"}) as consumer:
                consumer.collect(8)
                time.sleep(SETTLE_SECONDS)
                assert bodies(consumer.collect(0, 0)) == expected


def test_delay_levels(kind: str, peers: Peers) -> None:
    """A message arrives after the delay of its level."""
    go = go_with(kind, peers)
    topic = go.topic("go_delays")
    with go.producer() as producer, go.push(go.name("go_readers"), {topic: "*"}) as consumer:
        producer.send([message(topic, f"{level}", delayLevel=level) for level in (2, 1)])
        received = consumer.collect(2)
    assert [one.body for one in received] == ["1", "2"]
    waited = [one.received_at - one.born_timestamp for one in received]
    assert waited[0] >= 1000
    assert waited[1] >= 5000


def test_requests_are_answered(kind: str, peers: Peers) -> None:
    """Go and Java reply to requests of either; a request without a reply ends."""
    go, java = go_with(kind, peers), java_with(kind, peers)
    for asking, answering in ((go, go), (go, java), (java, go)):
        topic = go.topic("go_requests", 2)
        with go.producer() as producer:
            producer.send([message(topic, "to be received, not answered")])
        with (
            answering.replier(go.name("go_repliers"), topic) as replier,
            requester(asking, go.name("go_requesters"), topic) as caller,
        ):
            replier.collect(1)
            for body in ("one", LONG):
                reply = caller.request(message(topic, body))
                assert reply.body == f"re: {body}"
                assert reply.properties["MSG_TYPE"] == "reply"
    topic = go.topic("go_silence", 2)
    with requester(go, go.name("go_requesters"), topic) as caller, pytest.raises(ClientError) as caught:
        caller.request(message(topic, "hush"), 1500)
    assert "wait reply message timeout" in caught.value.message


def requester(peer: Peer, group: str, topic: str) -> Requester:
    """Return a started producer for requests; the Go one makes itself known to the brokers of a topic."""
    return Requester(peer.driver, peer.namesrv_address, group, topic=topic)


def test_pull_consumers(kind: str, peers: Peers) -> None:
    """Queues are read from any offset; polled and acknowledged messages are not redelivered."""
    go = go_with(kind, peers)
    topic, group = go.topic("go_pulled", 2), go.name("go_pullers")
    first, second = go.queues(topic)
    with go.producer() as producer:
        for queue in (first, second):
            producer.send_to(queue, [message(topic, f"{queue.queue_id}-{i:02}") for i in range(20)])
        with go.puller(group, topic) as reader:
            pulled = reader.pull(first, 15)
            assert (pulled.status, pulled.next_offset) == ("FOUND", 20)
            assert (pulled.min_offset, pulled.max_offset) == (0, 20)
            assert [one.body for one in pulled.messages] == [f"0-{i}" for i in range(15, 20)]
            assert len(reader.pull(first, 0, max=3).messages) == 3
            assert reader.pull(first, 1000).status == "OFFSET_ILLEGAL"
            polled = reader.poll(40)
            assert bodies(polled) == [f"{queue}-{i:02}" for queue in (0, 1) for i in range(20)]
            assert [reader.fetch_offset(queue) for queue in (first, second)] == [20, 20]
            reader.update_offset(second, 17)
            reader.persist(topic)
        producer.send_to(first, [message(topic, "0-20")])
        with go.puller(group, topic) as reader:
            assert bodies(reader.poll(4)) == ["0-20", "1-17", "1-18", "1-19"]


def test_every_way_to_send(kind: str, peers: Peers) -> None:
    """The Go and the Java client receive all messages."""
    go, java = go_with(kind, peers), java_with(kind, peers)
    topic = go.topic("go_ways")
    fields = {"tags": "TagA", "keys": "k1 k2", "flag": 7, "properties": {"colour": "blau", "größe": "µ"}}
    with (
        go.producer() as producer,
        go.push(go.name("go_readers"), {topic: "*"}) as consumer,
        java.push(go.name("java_readers"), {topic: "*"}) as other,
    ):
        results = producer.send([message(topic, f"sync {i} äöü", **fields) for i in range(8)])
        results += producer.send([message(topic, f"async {i}") for i in range(20)], how="async")
        results += producer.send(
            [message(topic, f"key {i % 4}", keys=f"{i % 4}") for i in range(8)], "selector"
        )
        results += producer.send([message(topic, LONG)])
        producer.send([message(topic, f"oneway {i}") for i in range(10)], how="oneway")
        received, others = consumer.collect(47), other.collect(47)
    assert {result.status for result in results} == {"SEND_OK"}
    assert bodies(received) == bodies(others)
    found = {(one.queue_id, one.queue_offset): one for one in received}
    assert len(found) == 47
    for result in results:
        one = found[result.queue.queue_id, result.queue_offset]
        assert (one.unique_key, one.broker_name) == (result.msg_id, BROKER_NAME)
    for one in (one for one in [*received, *others] if one.body.startswith("sync")):
        assert (one.tags, one.keys, one.flag) == ("TagA", "k1 k2", 7)
        assert (one.properties["colour"], one.properties["größe"]) == ("blau", "µ")
    assert len({(one.queue_id, one.body) for one in received if one.body.startswith("key")}) == 4
    assert [one.sys_flag & 1 for one in received if one.body == LONG] == [1]
    assert len([one for one in received if one.body.startswith("oneway")]) == 10


def test_batches(kind: str, peers: Peers) -> None:
    """One result names all ids; messages take consecutive offsets of one queue, in order."""
    go = go_with(kind, peers)
    topic = go.topic("go_batches")
    batch = [message(topic, f"{i}", tags="T", keys=f"key{i}", properties={"n": f"{i}"}) for i in range(10)]
    with go.producer() as producer, go.push(go.name("go_readers"), {topic: "T"}) as consumer:
        [result] = producer.send(batch, how="batch")
        received = sorted(consumer.collect(10), key=lambda one: one.queue_offset)
    assert len(result.offset_msg_id.split(",")) == 10
    assert [one.msg_id for one in received] == result.offset_msg_id.split(",")
    assert [(one.body, one.keys, one.properties["n"]) for one in received] == [
        (f"{i}", f"key{i}", f"{i}") for i in range(10)
    ]
    places = [(one.queue_id, one.queue_offset) for one in received]
    assert places == [(result.queue.queue_id, result.queue_offset + i) for i in range(10)]


def test_broadcasting(kind: str, peers: Peers) -> None:
    """Each member receives everything."""
    go = go_with(kind, peers)
    topic, group = go.topic("go_broadcast"), go.name("go_listeners")
    options = {"model": "BROADCASTING"}
    expected = [f"{i:02}" for i in range(20)]
    with go.producer() as producer:
        producer.send([message(topic, body) for body in expected])
        with (
            go.push(group, {topic: "*"}, **options) as first,
            go.push(group, {topic: "*"}, **options) as second,
        ):
            assert bodies(first.collect(20)) == bodies(second.collect(20)) == expected


def test_filters(kind: str, peers: Peers) -> None:
    """Filters by tags and by expressions; messages that wake a parked pull are filtered as well."""
    go = go_with(kind, peers)
    topic = go.topic("go_filters")
    tagged = [message(topic, f"{i}", tags="ABC"[i % 3], properties={"n": f"{i}"}) for i in range(6)]
    with (
        go.producer() as producer,
        go.push(go.name("go_some"), {topic: "A || C"}) as some,
        go.push(go.name("go_all"), {topic: "*"}) as everything,
        go.push(go.name("go_sql"), {topic: sql("n > 1 AND TAGS IN ('A', 'B')")}) as by_expression,
    ):
        producer.send(tagged)
        assert bodies(everything.collect(6)) == list("012345")
        assert bodies(some.collect(4)) == list("0235")
        assert bodies(by_expression.collect(2)) == list("34")
        time.sleep(SETTLE_SECONDS)
        assert (len(some.collect(0, 0)), len(by_expression.collect(0, 0))) == (4, 2)


def test_administration(kind: str, peers: Peers) -> None:
    """A topic is created with the requested queues, listed, used and deleted."""
    go = go_with(kind, peers)
    topic = go.topic("go_made", 3)
    assert topic in go.topics()
    with go.producer() as producer, go.push(go.name("go_readers"), {topic: "*"}) as consumer:
        producer.send([message(topic, f"{i}") for i in range(3)])
        assert {one.queue_id for one in consumer.collect(3)} == {0, 1, 2}
    go.delete_topic(topic)
    wait_until(lambda: not go.queues(topic), 20, "the topic has no route")
    assert topic not in go.topics()
