"""Consuming by POP: deliveries, acknowledgements, refusals, late ones; pulls again when the mode changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.process_queue import FIRST_SECONDS
from mqgateway.gateway.client.subscriptions import Sql
from mqgateway.gateway.codec.bodies import SetMessageRequestModeRequestBody
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
)
from tests.fuzz.world import BROKER_PORT
from tests.gateway.client.test_push import Inbox, begin, send
from tests.support.gateway.client.cluster import Cluster, messages, queue_of, requests_seen


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.make_topic("T")
        yield cluster


def set_mode(cluster: Cluster, mode: str = "POP", share: int = 0, group: str = "G") -> None:
    """Change the mode of a group, as an administrator does."""
    body = SetMessageRequestModeRequestBody("T", group, mode, share)
    answer = cluster.meet(BROKER_PORT).ask(RequestCode.SET_MESSAGE_REQUEST_MODE, None, body.encode())
    assert answer.code == 0, answer.remark


def popper(cluster: Cluster, inbox: Any, **settings: Any) -> Any:
    return begin(cluster, inbox, client_rebalance=False, **settings)


CODES: dict[Any, int] = {
    PopMessageRequestHeader: RequestCode.POP_MESSAGE,
    AckMessageRequestHeader: RequestCode.ACK_MESSAGE,
    ChangeInvisibleTimeRequestHeader: RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
}


def headers(seen: list[Any], kind: Any) -> list[Any]:
    return [kind.decode(one.ext_fields) for one in seen if one.code == CODES[kind]]


def test_messages_are_popped_and_acknowledged(cluster: Cluster) -> None:
    set_mode(cluster)
    seen, inbox = requests_seen(cluster), Inbox()
    send(cluster, 10)
    consumer = popper(cluster, inbox)
    cluster.wait_for(lambda: len(inbox.got) == 10)
    assert sorted(inbox.bodies) == sorted(str(number).encode() for number in range(10))
    assert {one.queue.queue_id for one in inbox.got} == {0, 1, 2, 3} and inbox.got[0].topic == "T"
    cluster.settle(1.0)
    assert len(headers(seen, AckMessageRequestHeader)) == 10
    pops = headers(seen, PopMessageRequestHeader)
    first = pops[0]
    assert (first.queue_id, first.max_msg_nums, first.invisible_time, first.poll_time) == (
        -1,
        32,
        60_000,
        15_000,
    )
    assert (first.init_mode, first.exp, first.exp_type) == (0, "*", "TAG")
    info = cluster.run(Deferred.fromCoroutine(consumer.running_info()))
    assert info.mq_pop_table[queue_of("T", -1)].wait_ack_count == 0
    assert [queue.topic for queue in info.mq_table] == ["%RETRY%G"]  # which is pulled in any case


def test_acknowledged_messages_are_not_redelivered(cluster: Cluster) -> None:
    set_mode(cluster)
    inboxes = [Inbox(), Inbox()]
    for inbox in inboxes:
        popper(cluster, inbox)
    cluster.settle(FIRST_SECONDS + 1)
    send(cluster, 40)
    cluster.wait_for(lambda: sum(len(one.got) for one in inboxes) >= 40)
    cluster.settle(120.0)
    assert sum(len(one.got) for one in inboxes) == 40


def test_a_pop_waits_for_messages(cluster: Cluster) -> None:
    set_mode(cluster)
    inbox = Inbox()
    popper(cluster, inbox)
    cluster.settle(5.0)
    send(cluster, 1)
    cluster.settle(0.5)
    assert inbox.bodies == [b"0"]


def test_refused_message_is_redelivered_after_ten_seconds(cluster: Cluster) -> None:
    set_mode(cluster)
    seen, inbox = requests_seen(cluster), Inbox(False, RuntimeError("no"))
    send(cluster, 1)
    popper(cluster, inbox)
    cluster.wait_for(lambda: len(inbox.got) == 3, 120.0)
    hides = headers(seen, ChangeInvisibleTimeRequestHeader)
    assert [one.invisible_time for one in hides] == [10_000, 30_000]
    assert [one.topic for one in hides] == ["T", "%RETRY%G_T"]
    assert [one.reconsume_times for one in inbox.got] == [0, 1, 2]
    assert {one.topic for one in inbox.got} == {"T"} and len({one.message_id for one in inbox.got}) == 1
    cluster.settle(200.0)
    assert len(inbox.got) == 3
    assert "no" in cluster.watch.complaints.pop()


def test_a_listener_may_choose_the_time_and_take_only_some(cluster: Cluster) -> None:
    set_mode(cluster)
    seen = requests_seen(cluster)

    def listener(given: Any, context: Any) -> None:
        context.acked, context.delay_level = 1, 4

    producer = cluster.producer()
    cluster.run(producer.send_batch(messages("T", 3)))
    popper(cluster, listener, consume_message_batch_max_size=3)
    cluster.settle(2.0)
    assert len(headers(seen, AckMessageRequestHeader)) == 1
    assert [one.invisible_time for one in headers(seen, ChangeInvisibleTimeRequestHeader)] == [180_000] * 2


def test_message_that_takes_too_long_is_not_acknowledged(cluster: Cluster) -> None:
    set_mode(cluster)
    seen = requests_seen(cluster)
    given: list[Any] = []

    def listener(messages: Any, context: Any) -> Any:
        given.extend(messages)
        if len(given) > 1:
            return None
        slow: Deferred[None] = Deferred()
        cluster.net.callLater(12.0, slow.callback, None)
        return slow

    send(cluster, 1)
    popper(cluster, listener, pop_invisible_time=10_000)
    cluster.wait_for(lambda: len(given) == 2)
    cluster.settle(1.0)
    acks = headers(seen, AckMessageRequestHeader)
    assert [one.topic for one in acks] == ["%RETRY%G_T"]


def test_expired_message_is_not_given_to_the_listener(cluster: Cluster) -> None:
    set_mode(cluster)
    inbox, hold = Inbox(Deferred()), []
    hold.append(inbox.says[0])
    send(cluster, 2)
    popper(cluster, inbox, consume_thread_min=1, consume_thread_max=1, pop_invisible_time=10_000)
    cluster.settle(11.0)
    assert len(inbox.got) == 1
    hold[0].callback(None)
    cluster.wait_for(lambda: len(inbox.got) == 3)
    assert [one.reconsume_times for one in inbox.got[1:]] == [1, 1]


def test_pops_pause_while_too_many_messages_wait(cluster: Cluster) -> None:
    set_mode(cluster)
    hold: Deferred[None] = Deferred()
    seen = requests_seen(cluster)
    send(cluster, 60)
    consumer = popper(
        cluster,
        lambda *_: hold,
        pop_threshold_for_queue=10,
        pop_batch_nums=8,
        consume_thread_min=1,
        consume_thread_max=1,
    )
    cluster.settle(3.0)
    assert len(headers(seen, PopMessageRequestHeader)) == 2
    consumer.suspend()
    hold.callback(None)
    cluster.settle(3.0)
    assert len(headers(seen, PopMessageRequestHeader)) == 2


def test_only_messages_of_the_subscription_are_delivered(cluster: Cluster) -> None:
    set_mode(cluster)
    inbox = Inbox()
    send(cluster, 3, tags="a")
    send(cluster, 3, tags="b")
    popper(cluster, inbox, wanted="a")
    cluster.settle(3.0)
    assert [one.tags for one in inbox.got] == ["a"] * 3


def test_sql_goes_with_each_pop() -> None:
    with Cluster(enable_property_filter=True) as cluster:
        cluster.make_topic("T")
        set_mode(cluster)
        seen, inbox = requests_seen(cluster), Inbox()
        send(cluster, 2, properties={"n": "1"})
        send(cluster, 2, properties={"n": "2"})
        popper(cluster, inbox, wanted=Sql("n = '2'"))
        cluster.settle(3.0)
        assert [one.properties["n"] for one in inbox.got] == ["2", "2"]
        assert headers(seen, PopMessageRequestHeader)[0].exp_type == "SQL92"


def test_a_namespace_is_kept_from_the_listener(cluster: Cluster) -> None:
    cluster.make_topic("ns%T")
    body = SetMessageRequestModeRequestBody("ns%T", "ns%G", "POP", 0)
    assert cluster.meet(BROKER_PORT).ask(RequestCode.SET_MESSAGE_REQUEST_MODE, None, body.encode()).code == 0
    seen, inbox = requests_seen(cluster), Inbox()
    producer = cluster.producer(namespace="ns")
    cluster.run(producer.send(messages("T", 1)[0]))
    popper(cluster, inbox, namespace="ns")
    cluster.settle(3.0)
    assert [one.topic for one in inbox.got] == ["T"]
    assert [one.topic for one in headers(seen, AckMessageRequestHeader)] == ["ns%T"]


def test_the_broker_may_let_pull_as_well(cluster: Cluster) -> None:
    inbox = Inbox()
    send(cluster, 8)
    consumer = popper(cluster, inbox)
    cluster.wait_for(lambda: len(inbox.got) == 8)
    assert {queue.queue_id for queue in consumer.held if queue.topic == "T"} == {0, 1, 2, 3}
    assert "%RETRY%G_T" in consumer.subscriptions


def test_a_group_changes_from_popping_to_pulling_and_back(cluster: Cluster) -> None:
    set_mode(cluster)
    inbox = Inbox()
    send(cluster, 4)
    consumer = popper(cluster, inbox)
    cluster.wait_for(lambda: len(inbox.got) == 4)
    set_mode(cluster, "PULL")
    cluster.wait_for(lambda: any(queue.topic == "T" for queue in consumer.held))
    assert "%RETRY%G_T" in consumer.subscriptions
    send(cluster, 4)
    cluster.wait_for(lambda: len(inbox.got) >= 8)
    set_mode(cluster, "POP")
    cluster.wait_for(lambda: not any(queue.topic == "T" for queue in consumer.held))
    assert "%RETRY%G_T" not in consumer.subscriptions
    send(cluster, 4)
    cluster.wait_for(lambda: len({one.message_id for one in inbox.got}) == 12)


def test_queues_of_topics_that_are_not_wanted_any_more_are_left(cluster: Cluster) -> None:
    set_mode(cluster)
    inbox = Inbox()
    consumer = popper(cluster, inbox)
    cluster.settle(2.0)
    consumer.unsubscribe("T")
    cluster.settle(20.0)
    send(cluster, 2)
    cluster.settle(20.0)
    assert inbox.got == []


def test_pops_resume_after_a_broken_connection(cluster: Cluster) -> None:
    set_mode(cluster)
    inbox = Inbox()
    popper(cluster, inbox)
    cluster.settle(2.0)
    for pair in cluster.net.pairs:
        if pair.server.host.port == BROKER_PORT:
            pair.client.abortConnection()
    cluster.settle(1.0)
    send(cluster, 3)
    cluster.wait_for(lambda: len(inbox.got) == 3)
