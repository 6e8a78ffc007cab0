"""Each kind of RocketMQ's consumers, reading a whole topic to compare it with what Kafka's clients wrote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from compat_tests.kafka.support.crossing import Case, Crossing, Filled, check_message, check_received
from compat_tests.support.driver import Received, sql
from compat_tests.support.golang import GoDriver, GoPeer
from compat_tests.support.grpc.clients import Peer as GrpcPeer
from compat_tests.support.grpc.clients import driver_of
from compat_tests.support.processes import wait_until
from compat_tests.test_grpc_mixed import let_pop
from mqgateway.gateway.client import (
    Context,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
    SimpleConsumer,
)

SECONDS = 60
LONG = 1024
"""A longer body is not shown by the driver of the gRPC clients."""


def go_peer(both: Crossing) -> GoPeer:
    """Return the Go client of RocketMQ."""
    peers = both.peers
    return GoPeer(both.server, peers.shared("go", lambda: GoDriver(peers.runtime, peers.work)))


def grpc_peer(both: Crossing) -> GrpcPeer:
    """Return the Java client of RocketMQ that speaks gRPC."""
    return GrpcPeer(both.server, driver_of("java", both.peers))


def _push(both: Crossing, filled: Filled) -> None:
    _pushed(both, filled, "*")


def _tags(both: Crossing, filled: Filled) -> None:
    _pushed(both, filled, "A")


def _sql(both: Crossing, filled: Filled) -> None:
    _pushed(both, filled, sql("TAGS IS NOT NULL AND n > 5"))


def _pushed(both: Crossing, filled: Filled, expression: str | dict[str, str]) -> None:
    peer, tag = both.rocketmq, None if expression == "*" else "A"
    with peer.push(peer.name("push"), {filled.topic: expression}) as consumer:
        check_received(filled, consumer.collect(filled.count(tag)), tag)


def _ordered(both: Crossing, filled: Filled) -> None:
    peer = both.rocketmq
    with peer.push(peer.name("ordered"), {filled.topic: "*"}, listener="ordered") as consumer:
        received = consumer.collect(filled.count())
    check_received(filled, received)
    _check_order(received)


def _pop(both: Crossing, filled: Filled) -> None:
    peer = both.rocketmq
    group = both.server.make_group(peer.name("pop"))
    let_pop(both.server, filled.topic, group)
    with peer.push(group, {filled.topic: "*"}, clientRebalance=False) as consumer:
        received = consumer.collect(filled.count())
    check_received(filled, received)
    assert all("POP_CK" in one.properties for one in received)


def _pull(both: Crossing, filled: Filled) -> None:
    peer = both.rocketmq
    received: list[Received] = []
    with peer.pull(peer.name("pull")) as consumer:
        for queue in consumer.queues(filled.topic):
            offset, end = 0, consumer.max_offset(queue)
            while offset < end:
                pulled = consumer.pull(queue, offset, max=5)  # ends and begins inside of batches
                received += pulled.messages
                offset = pulled.next_offset
    check_received(filled, received)


def _lite(both: Crossing, filled: Filled) -> None:
    peer = both.rocketmq
    with peer.lite(peer.name("lite"), autoCommit=False) as consumer:
        queues = consumer.queues(filled.topic)
        consumer.assign(queues)
        for queue in queues:
            consumer.seek(queue, "begin")
        check_received(filled, consumer.poll(filled.count()))
    first = queues[0]
    with peer.lite(peer.name("lite"), autoCommit=False) as consumer:
        consumer.assign([first])
        # The client may return what it pulled before a seek, so there must be nothing left to pull.
        consumer.poll(sum(queue_id == first.queue_id for queue_id, _ in filled.expected))
        consumer.seek(first, 3)
        (got, *_) = consumer.poll(1)
        assert (got.queue_id, got.queue_offset) == (first.queue_id, 3)


def _go_push(both: Crossing, filled: Filled) -> None:
    go = go_peer(both)
    with go.push(go.name("go_push"), {filled.topic: "*"}) as consumer:
        check_received(filled, consumer.collect(filled.count()))


def _go_pull(both: Crossing, filled: Filled) -> None:
    go = go_peer(both)
    with go.puller(go.name("go_pull"), filled.topic) as consumer:
        check_received(filled, consumer.poll(filled.count()))


def _grpc_simple(both: Crossing, filled: Filled) -> None:
    _by_grpc(both, filled, grpc_peer(both).group("grpc"))


def _grpc_in_order(both: Crossing, filled: Filled) -> None:
    _by_grpc(both, filled, grpc_peer(both).group("grpc", orderly=True))


def _by_grpc(both: Crossing, filled: Filled, group: str) -> None:
    with grpc_peer(both).simple(group, {filled.topic: "*"}) as consumer:
        received = consumer.collect(filled.count())
    by_id = {one.message_id: one for one in received}
    assert len(by_id) == filled.count()
    waiting = list(filled.expected.values())
    for one in received:  # a gRPC client does not know offsets
        case = next(case for case in waiting if _is(case, one.size, one.body, one.keys))
        waiting.remove(case)
        body = one.body if one.size <= LONG else case.body
        check_message(case, body, " ".join(one.keys), one.tag, one.properties, is_whole=False)


def _is(case: Case, size: int, body: str, keys: Sequence[str]) -> bool:
    is_body = len(case.body.encode()) == size and (size > LONG or case.body == body)
    return is_body and " ".join(keys) == (case.keys or "")


def _python_push(both: Crossing, filled: Filled) -> None:
    namesrv, received, lock = both.server.namesrv_address, list[ReceivedMessage](), threading.Lock()

    def keep(messages: Sequence[ReceivedMessage], context: Context) -> None:
        with lock:
            received.extend(messages)

    group = both.rocketmq.name("python_push")
    consumer = PushConsumer(group, keep, namesrv, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
    consumer.subscribe(filled.topic)
    with consumer:
        wait_until(lambda: len(received) >= filled.count(), SECONDS, "all messages")
    _check_ours(filled, received)


def _python_pull(both: Crossing, filled: Filled) -> None:
    received: list[ReceivedMessage] = []
    with PullConsumer(both.rocketmq.name("python_pull"), both.server.namesrv_address) as consumer:
        for queue in consumer.queues(filled.topic):
            offset, end = 0, consumer.max_offset(queue)
            while offset < end:
                pulled = consumer.pull(queue, offset)
                received += pulled.messages
                offset = pulled.next_offset
    _check_ours(filled, received)


def _python_simple(both: Crossing, filled: Filled) -> None:
    group, received = both.rocketmq.name("python_simple"), list[ReceivedMessage]()
    namesrv = both.server.namesrv_address
    consumer = SimpleConsumer(group, namesrv, consume_from_where="CONSUME_FROM_FIRST_OFFSET")
    consumer.subscribe([filled.topic])

    def has_all() -> bool:
        for message in consumer.receive(timeout=2):
            consumer.ack(message)
            received.append(message)
        return len(received) >= filled.count()

    with consumer:
        wait_until(has_all, SECONDS, "all messages")
    _check_ours(filled, received)


def _check_ours(filled: Filled, received: Sequence[ReceivedMessage]) -> None:
    places = sorted((one.queue.queue_id, one.queue_offset) for one in received)
    assert places == sorted(filled.expected)
    for one in received:
        case = filled.expected[one.queue.queue_id, one.queue_offset]
        check_message(case, one.body.decode(), " ".join(one.keys), one.tags, one.properties)


def _check_order(received: Sequence[Received]) -> None:
    for queue_id in {one.queue_id for one in received}:
        offsets = [one.queue_offset for one in received if one.queue_id == queue_id]
        assert offsets == sorted(offsets)


READERS: Mapping[str, Callable[[Crossing, Filled], None]] = {
    "push": _push,
    "push-tags": _tags,
    "push-sql": _sql,
    "push-ordered": _ordered,
    "push-pop": _pop,
    "pull": _pull,
    "lite-pull": _lite,
    "go-push": _go_push,
    "go-pull": _go_pull,
    "grpc-simple": _grpc_simple,
    "grpc-in-order": _grpc_in_order,
    "python-push": _python_push,
    "python-pull": _python_pull,
    "python-simple": _python_simple,
}
"""By kind of consumer: read a topic and compare what came."""
