"""Push consumers: messages are consumed, shared between members, and retried after failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.allocation import AveragelyByCircle
from mqgateway.gateway.client.errors import BadArgument, NotRunning, Unreachable
from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.client.subscriptions import Sql
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import PullMessageRequestHeader, UpdateConsumerOffsetRequestHeader
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT
from tests.support.gateway.client.cluster import Cluster, messages, queue_of, requests_seen


def test_a_consumer_without_a_subscription_does_not_start() -> None:
    with Cluster() as cluster:
        consumer = PushConsumer("G", cluster.around, Inbox(), **cluster.settings({}))
        with pytest.raises(BadArgument, match="the consumer G has no subscription"):
            cluster.run(consumer.start())


class Inbox:
    """A listener that keeps its messages, and returns the given outcomes in turn."""

    def __init__(self, *says: Any) -> None:
        self.got: list[ReceivedMessage] = []
        self.sizes: list[int] = []
        self.says = list(says)
        self.at_once = 0

    def __call__(self, given: Sequence[ReceivedMessage], context: Context) -> Any:
        self.got += given
        self.sizes.append(len(given))
        said = self.says.pop(0) if self.says else None
        if isinstance(said, Exception):
            raise said
        return said

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.got]


def begin(cluster: Cluster, inbox: Any, group: str = "G", topic: str = "T", **settings: Any) -> PushConsumer:
    """A started consumer that begins with the first offset."""
    wanted = settings.pop("wanted", "*")
    given = cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", **settings})
    consumer = PushConsumer(group, cluster.around, inbox, **given)
    cluster.run(consumer.subscribe(topic, wanted))
    cluster.begin(consumer)
    return consumer


def send(cluster: Cluster, count: int, topic: str = "T", **fields: Any) -> None:
    producer = cluster.producer(f"P{len(cluster.net.pairs)}_{cluster.net.attempts}")
    for message in messages(topic, count, **fields):
        cluster.run(producer.send(message))


def numbers(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]


def test_old_and_new_messages_are_consumed_once() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        send(cluster, 10)
        inbox = Inbox()
        begin(cluster, inbox)
        cluster.wait_for(lambda: len(inbox.got) == 10)
        send(cluster, 5)
        cluster.wait_for(lambda: len(inbox.got) == 15)
        cluster.settle(30.0)
        assert sorted(inbox.bodies) == sorted(numbers(10) + numbers(5))


def test_offsets_are_committed_every_5_seconds_and_found_again() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 5)
        inbox = Inbox()
        consumer = begin(cluster, inbox)
        cluster.wait_for(lambda: len(inbox.got) == 5)
        seen = requests_seen(cluster)
        cluster.settle(16.0)
        commits = [one for one in seen if one.code == RequestCode.UPDATE_CONSUMER_OFFSET]
        offsets = {
            header.topic: header.commit_offset
            for header in map(UpdateConsumerOffsetRequestHeader.decode, (one.ext_fields for one in commits))
        }
        assert offsets["T"] == 5 and all(one.is_oneway for one in commits)
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 5
        cluster.run(consumer.close())
        send(cluster, 2)
        later = Inbox()
        begin(cluster, later)
        cluster.wait_for(lambda: later.got)
        cluster.settle(5.0)
        assert later.bodies == numbers(2)


def test_offsets_ride_on_pulls() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        begin(cluster, Inbox())
        seen = requests_seen(cluster)
        cluster.settle(3.0)
        send(cluster, 1)
        cluster.settle(1.0)
        pulls = [
            PullMessageRequestHeader.decode(one.ext_fields)
            for one in seen
            if one.code == RequestCode.PULL_MESSAGE and one.ext_fields["topic"] == "T"
        ]
        assert pulls[-1].commit_offset == 4 and pulls[-1].sys_flag == 3
        assert (pulls[0].max_msg_nums, pulls[0].suspend_timeout_millis) == (32, 15_000)
        assert pulls[0].max_msg_bytes == 262_144 and pulls[0].subscription is None


@pytest.mark.parametrize(
    ("where", "count"), [("CONSUME_FROM_FIRST_OFFSET", 6), ("CONSUME_FROM_LAST_OFFSET", 3)]
)
def test_first_offset_of_a_new_group(monkeypatch: pytest.MonkeyPatch, where: str, count: int) -> None:
    monkeypatch.setattr("mqgateway.gateway.broker.consume.offsets.begins_fresh", lambda *_: False)
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        inbox = Inbox()
        begin(cluster, inbox, consume_from_where=where)
        cluster.settle(5.0)
        send(cluster, 3)
        cluster.wait_for(lambda: len(inbox.got) == count)
        cluster.settle(5.0)
        assert len(inbox.got) == count


def test_a_new_group_may_begin_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.gateway.broker.consume.offsets.begins_fresh", lambda *_: False)
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        cluster.settle(1900.0 / 4)
        inbox = Inbox()
        begin(cluster, inbox, consume_from_where="CONSUME_FROM_TIMESTAMP")  # half an hour ago
        cluster.wait_for(lambda: len(inbox.got) == 3)
        with pytest.raises(BadArgument, match="yyyyMMdd"):
            begin(cluster, inbox, "H", consume_timestamp="yesterday")


def test_only_tags_that_are_wanted_are_given() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        # AaAa and BBBB have one hash, so the broker cannot tell them apart.
        for tag in ("AaAa", "BBBB", "C", "AaAa"):
            cluster.run(producer.send(Message("T", tag, tags=tag)))
        inbox = Inbox()
        begin(cluster, inbox, wanted="AaAa || D")
        cluster.wait_for(lambda: len(inbox.got) == 2)
        cluster.settle(20.0)
        assert inbox.bodies == [b"AaAa", b"AaAa"]
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 4


def test_expressions_choose() -> None:
    with Cluster(enable_property_filter=True) as cluster:
        cluster.make_topic("T", queues=1)
        producer = cluster.producer()
        for number in range(4):
            cluster.run(producer.send(Message("T", f"{number}", properties={"a": str(number)})))
        inbox = Inbox()
        begin(cluster, inbox, wanted=Sql("a > 1"))
        cluster.wait_for(lambda: len(inbox.got) == 2)
        cluster.settle(5.0)
        assert inbox.bodies == [b"2", b"3"]


def test_a_batch_is_as_large_as_configured() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 10)
        inbox = Inbox()
        begin(cluster, inbox, consume_message_batch_max_size=4)
        cluster.wait_for(lambda: len(inbox.got) == 10)
        assert inbox.sizes == [4, 4, 2]


def test_queues_are_shared_out_among_members_and_taken_over() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=5)
        first, second = Inbox(), Inbox()
        one = begin(cluster, first)
        cluster.settle(2.0)
        assert len(topics_held(one, "T")) == 5
        two = begin(cluster, second)
        cluster.wait_for(lambda: sorted(len(topics_held(each, "T")) for each in (one, two)) == [2, 3])
        assert topics_held(one, "T").isdisjoint(topics_held(two, "T"))
        send(cluster, 20)
        cluster.wait_for(lambda: len(first.got) + len(second.got) == 20)
        cluster.run(two.close())
        cluster.wait_for(lambda: len(topics_held(one, "T")) == 5, seconds=5)
        send(cluster, 10)
        cluster.wait_for(lambda: len(first.got) + len(second.got) == 30)
        cluster.settle(10.0)
        assert len(first.got) + len(second.got) == 30


def test_more_members_than_queues_leave_some_idle() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        members = [begin(cluster, Inbox()) for _ in range(3)]
        cluster.settle(5.0)
        assert sorted(len(topics_held(each, "T")) for each in members) == [0, 1, 1]


def test_allocation_strategy_of_the_program() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=4)
        notified: list[tuple[str, int, int]] = []
        given = cluster.settings({})
        consumers = []
        for _ in range(2):
            consumer = PushConsumer(
                "G",
                cluster.around,
                Inbox(),
                strategy=AveragelyByCircle(),
                on_queues_changed=lambda topic, every, ours: notified.append((topic, len(every), len(ours))),
                **given,
            )
            cluster.run(consumer.subscribe("T"))
            cluster.begin(consumer)
            consumers.append(consumer)
        cluster.settle(5.0)
        held = sorted(sorted(queue.queue_id for queue in topics_held(one, "T")) for one in consumers)
        assert held == [[0, 2], [1, 3]]
        assert ("T", 4, 4) in notified and notified.count(("T", 4, 2)) == 2


def test_member_with_lost_connection_is_replaced() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=4)
        one, two = begin(cluster, Inbox()), begin(cluster, Inbox())
        cluster.settle(5.0)
        cluster.kill(two)
        cluster.wait_for(lambda: len(topics_held(one, "T")) == 4, seconds=5)


def test_failed_messages_come_again_from_the_retry_topic() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        inbox = Inbox(Consumed.LATER, ValueError("not yet"), False)
        begin(cluster, inbox)
        cluster.wait_for(lambda: len(inbox.got) == 4, seconds=110)
        assert [message.topic for message in inbox.got] == ["T"] * 4
        assert [message.reconsume_times for message in inbox.got] == [0, 1, 2, 3]
        assert len({message.message_id for message in inbox.got}) == 1
        complaints, cluster.watch.complaints = cluster.watch.complaints, []
        assert len(complaints) == 1 and "not yet" in complaints[0]


def test_after_too_many_times_it_is_a_dead_letter() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        inbox = Inbox(*[False] * 10)
        begin(cluster, inbox, max_reconsume_times=1)
        cluster.settle(30.0)
        assert len(inbox.got) == 2
        assert cluster.stored("%DLQ%G") == [b"0"]


def test_the_listener_says_when_a_message_comes_again() -> None:
    def listener(given: Sequence[ReceivedMessage], context: Context) -> bool:
        context.delay_level = -1
        return False

    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        begin(cluster, listener)
        cluster.settle(3.0)
        assert cluster.stored("%DLQ%G") == [b"0"]


def test_a_part_of_a_batch_may_be_done() -> None:
    seen: list[bytes] = []

    def listener(given: Sequence[ReceivedMessage], context: Context) -> None:
        seen.extend(message.body for message in given)
        if len(given) == 4:
            context.acked = 2

    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 4)
        begin(cluster, listener, consume_message_batch_max_size=4)
        cluster.wait_for(lambda: len(seen) == 6)
        assert sorted(seen[4:]) == [b"2", b"3"]


def test_message_that_cannot_be_sent_back_is_sent_again() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        inbox = Inbox(False)
        consumer = begin(cluster, inbox)
        refuse(cluster, RequestCode.CONSUMER_SEND_MSG_BACK)
        cluster.wait_for(lambda: len(inbox.got) == 2, seconds=60)
        assert [message.topic for message in inbox.got] == ["T", "T"]
        assert inbox.got[1].reconsume_times == 1
        assert consumer.group == "G"


def test_a_message_that_cannot_go_back_at_all_is_tried_again_here() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 2)
        inbox = Inbox(False)
        begin(cluster, inbox)
        refuse(cluster, RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2)
        cluster.wait_for(lambda: len(inbox.got) == 3, seconds=8)
        cluster.settle(6.0)
        assert sorted(inbox.bodies) == [b"0", b"0", b"1"]
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 2


def test_a_message_that_takes_too_long_is_handed_back() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 2)
        never: Deferred[None] = Deferred()
        inbox = Inbox(never)
        begin(cluster, inbox, consume_timeout=1)
        cluster.wait_for(lambda: len(inbox.got) == 3, seconds=200)
        assert inbox.bodies == [b"0", b"1", b"0"]
        never.callback(None)
        cluster.settle(10.0)
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 2


def test_flow_control_by_count() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 30)
        never: Deferred[None] = Deferred()
        inbox = Inbox(*[never] * 30)
        consumer = begin(cluster, inbox, pull_threshold_for_queue=8, pull_batch_size=4)
        cluster.settle(10.0)
        # A pull that was allowed may bring a batch more.
        assert consumer.held[queue_of("T")].count == 12
        never.callback(None)
        cluster.wait_for(lambda: len(inbox.got) == 30)


def test_flow_control_by_size_and_by_a_topics_share() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=2)
        producer = cluster.producer(compress_msg_body_over_howmuch=10_000_000)
        for _ in range(6):
            cluster.run(producer.send(Message("T", bytes(1_000_000)), queue=queue_of("T")))
        never: Deferred[None] = Deferred()
        consumer = begin(cluster, Inbox(*[never] * 9), pull_threshold_size_for_topic=4, pull_batch_size=1)
        cluster.settle(1.5)
        # Two queues are held, each may have 2 MiB, and a pull that was allowed brings one more.
        assert consumer.held[queue_of("T")].count == 4
        never.callback(None)


def test_flow_control_by_span() -> None:
    never: Deferred[None] = Deferred()
    got: list[bytes] = []

    def listener(given: Sequence[ReceivedMessage], context: Context) -> Deferred[None] | None:
        got.append(given[0].body)
        return never if given[0].body in (b"0", b"12") else None

    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 30)
        begin(cluster, listener, consume_concurrently_max_span=10, pull_batch_size=4)
        cluster.settle(10.0)
        assert len(got) == 16
        never.callback(None)
        cluster.wait_for(lambda: len(got) == 30)


def test_no_more_listeners_at_once_than_configured() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        send(cluster, 10)
        work: list[Deferred[None]] = []

        def listener(given: Sequence[ReceivedMessage], context: Context) -> Deferred[None]:
            work.append(Deferred())
            return work[-1]

        begin(cluster, listener, consume_thread_min=3, consume_thread_max=3)
        cluster.settle(3.0)
        assert len(work) == 3
        for number in range(10):
            work[number].callback(None)
        cluster.settle()
        assert len(work) == 10


def test_a_consumer_can_be_suspended_and_resumed() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        inbox = Inbox()
        consumer = begin(cluster, inbox)
        cluster.settle(3.0)
        consumer.suspend()
        cluster.settle(20.0)
        send(cluster, 3)
        cluster.settle(5.0)
        assert not inbox.got
        consumer.resume()
        cluster.wait_for(lambda: len(inbox.got) == 3)


def test_offsets_that_the_broker_does_not_have_are_left() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        cluster.broker.tables.groups.find("G")
        cluster.broker.tables.offsets.commit("G", "T", 0, 99)
        inbox = Inbox()
        begin(cluster, inbox)
        cluster.settle(5.0)
        send(cluster, 1)
        cluster.wait_for(lambda: inbox.got)
        assert cluster.broker.tables.offsets.query("G", "T", 0) <= 4


def test_a_broker_that_comes_back_is_pulled_from_again() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        inbox = Inbox()
        begin(cluster, inbox)
        cluster.settle(3.0)
        cluster.cut(BROKER_PORT)
        cluster.settle(5.0)
        cluster.mend(BROKER_PORT)
        cluster.settle(3.0)
        send(cluster, 3)
        cluster.wait_for(lambda: len(inbox.got) == 3, seconds=5)


def test_new_queues_are_found_within_30_seconds() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        consumer = begin(cluster, Inbox())
        cluster.settle(3.0)
        cluster.make_topic("T", queues=3)
        cluster.wait_for(lambda: len(topics_held(consumer, "T")) == 3, seconds=35)


def test_a_topic_can_be_left() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        cluster.make_topic("U", queues=1)
        inbox = Inbox()
        consumer = begin(cluster, inbox)
        cluster.run(consumer.subscribe("U"))
        send(cluster, 1, "U")
        cluster.wait_for(lambda: inbox.got)
        consumer.unsubscribe("U")
        cluster.settle(3.0)
        assert not topics_held(consumer, "U") and topics_held(consumer, "T")


def test_a_namespace_is_not_seen_by_the_listener() -> None:
    with Cluster() as cluster:
        cluster.make_topic("ns%T", queues=1)
        producer = cluster.producer(namespace="ns")
        cluster.run(producer.send(Message("T", "x")))
        inbox = Inbox(False)
        consumer = begin(cluster, inbox, namespace="ns")
        cluster.wait_for(lambda: len(inbox.got) == 2, seconds=60)
        assert [message.topic for message in inbox.got] == ["T", "T"]
        assert consumer.group == "ns%G" and "ns%G" in cluster.broker.clients.consumer_groups


def test_the_consumer_lives_from_start_to_close() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        work: Deferred[None] = Deferred()
        inbox = Inbox(work)
        consumer = begin(cluster, inbox, await_termination_millis_when_shutdown=5000)
        with pytest.raises(NotRunning):
            cluster.run(consumer.start())
        send(cluster, 1)
        cluster.wait_for(lambda: inbox.got)
        closed = consumer.close()
        cluster.settle(1.0)
        assert not closed.called
        work.callback(None)
        cluster.run(closed)
        assert "G" not in cluster.broker.clients.consumer_groups
        assert cluster.broker.tables.offsets.query("G", "T", 0) == 1
        cluster.run(consumer.close())


def test_closing_consumer_gives_the_listener_nothing_more() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        work: Deferred[None] = Deferred()
        inbox = Inbox(work)
        one_thread = {"consume_thread_min": 1, "consume_thread_max": 1}
        consumer = begin(cluster, inbox, await_termination_millis_when_shutdown=5000, **one_thread)
        send(cluster, 3)
        cluster.wait_for(lambda: inbox.got)
        closed = consumer.close()
        cluster.settle(1.0)
        work.callback(None)
        cluster.run(closed)
        assert len(inbox.got) == cluster.broker.tables.offsets.query("G", "T", 0) == 1


def test_failed_start_has_a_reason() -> None:
    with Cluster() as cluster:
        cluster.cut(NAMESRV_PORT)
        with pytest.raises(Unreachable):
            begin(cluster, Inbox())
        cluster.mend(NAMESRV_PORT)
        for wrong in ({"consume_thread_min": 30, "consume_thread_max": 20}, {"pull_batch_size": 0}):
            with pytest.raises(BadArgument):
                begin(cluster, Inbox(), "H", **wrong)
        with pytest.raises(BadArgument):
            begin(cluster, Inbox(), "DEFAULT_CONSUMER")


def topics_held(consumer: PushConsumer, topic: str) -> set[Any]:
    return {queue for queue, process in consumer.held.items() if queue.topic == topic and not process.dropped}


def refuse(cluster: Cluster, *codes: int) -> None:
    """The broker knows these requests no more."""
    for code in codes:
        REFUSED[int(code)] = cluster.service.dispatcher._table.pop(int(code))


def allow(cluster: Cluster, *codes: int) -> None:
    """The broker knows them again."""
    for code in codes:
        cluster.service.dispatcher._table[int(code)] = REFUSED.pop(int(code))


REFUSED: dict[int, Any] = {}


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ({"consume_thread_max": 4}, 4, 4),
        ({"consume_thread_min": 50}, 50, 50),
        ({"consume_thread_max": 64}, 20, 64),
        ({"consume_thread_min": 2, "consume_thread_max": 3}, 2, 3),
        ({}, 20, 20),
    ],
    ids=repr,
)
def test_bound_of_threads_that_was_not_given_follows_the_other(given: Any, least: int, most: int) -> None:
    with Cluster() as cluster:
        consumer = PushConsumer("G", cluster.around, Inbox(), **cluster.settings(given))
        settings = consumer.settings
        assert (settings.consume_thread_min, settings.consume_thread_max) == (least, most)
        assert consumer.listeners_max == most


def test_several_topics_are_subscribed_to_at_once() -> None:
    with Cluster() as cluster:
        for topic in ("T", "U"):
            cluster.make_topic(topic, queues=1)
        inbox = Inbox()
        consumer = PushConsumer("G", cluster.around, inbox, **cluster.settings({"consume_from_where": FIRST}))
        with pytest.raises(BadArgument, match="topic='a b'"):
            cluster.run(consumer.subscribe(["T", "a b"]))
        assert consumer.topics() == []
        cluster.run(consumer.subscribe(["T", "U"], "a"))
        cluster.begin(consumer)
        producer = cluster.producer()
        for topic in ("T", "U"):
            cluster.run(producer.send(Message(topic, topic, tags="a")))
        cluster.wait_for(lambda: sorted(one.body for one in inbox.got) == [b"T", b"U"])
        consumer.unsubscribe(["T", "U"])
        assert consumer.topics() == ["%RETRY%G"]


def test_broadcasting_consumer_starts_with_a_damaged_file_of_offsets() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        settings = cluster.settings({"message_model": "BROADCASTING", "consume_from_where": FIRST})
        first = PushConsumer("G", cluster.around, Inbox(), **settings)
        assert first._local is not None
        path = first._local.path
        first._local.save({queue_of("T"): 2})
        cluster.disk.open(path).truncate(7)
        inbox = Inbox()
        consumer = PushConsumer("G", cluster.around, inbox, **settings)
        cluster.run(consumer.subscribe("T"))
        cluster.begin(consumer)
        cluster.wait_for(lambda: len(inbox.got) == 3)  # as a new consumer, from the first one
        assert cluster.disk.exists(path + ".broken")
        cluster.watch.complaints.clear()


FIRST: Any = "CONSUME_FROM_FIRST_OFFSET"
