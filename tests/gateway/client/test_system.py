"""Producing and consuming, line by line, as the system's design has them.

`LINES` names each line and the tests that prove it: those here let whole clients and servers live together in
memory, the others stand beside what they test.
"""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest

from mqgateway.gateway.client.allocation import AveragelyByCircle, PinnedTo, Strategy
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import ConsumerSendMsgBackRequestHeader, PullMessageRequestHeader
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.testing.faults import SEND, Faults
from tests.fuzz.world import NAMESRV_PORT
from tests.gateway.client.test_push import Inbox, begin, send, topics_held
from tests.support.gateway.client.cluster import Cluster, messages, requests_seen, topics_asked_for

LINES = {
    # Routes
    "clients poll routes every 30 s": [
        "producer.routes_are_polled_every_30_seconds",
        "push.new_queues_are_found_within_30_seconds",
    ],
    "from one name server of their list, and move on when it fails": [
        "name_servers.next_name_server_is_queried_after_a_failure",
        "system.next_name_server_is_queried_after_a_failure",
    ],
    "clients learn of a dead broker late; producers cope by avoiding it": [
        "producer.a_retry_avoids_the_broker_that_failed",
        "system.dead_broker_is_avoided_until_routes_change",
    ],
    # Producing
    "topic publish info from cache, else name server, else the default topic's": [
        "producer.publish_info_comes_from_the_cache_else_the_name_server_else_the_default_topic"
    ],
    "round robin over queues": ["producer.round_robin_over_queues", "publishing.queues_come_in_turn"],
    "on a retry avoiding the broker that failed": [
        "producer.a_retry_avoids_the_broker_that_failed",
        "faults.without_grading_only_the_last_broker_is_avoided",
    ],
    "with latency fault tolerance on, brokers are graded by latency and shunned for a while": [
        "faults.brokers_are_graded_by_latency",
        "faults.a_slow_broker_is_shunned_for_a_while",
        "system.slow_broker_is_avoided_for_some_time",
    ],
    "picking at least one": ["faults.at_least_one_is_picked", "system.when_all_are_slow_one_is_picked"],
    "a detector finds brokers that can be reached again": [
        "faults.the_detector_looks_now_and_then_until_it_gets_through",
        "system.the_detector_finds_a_broker_that_is_back",
    ],
    "two retries": ["producer.two_retries_and_then_the_reason"],
    "synchronous, asynchronous, one-way": [
        "producer.synchronous_send_reports_where_the_message_lies",
        "producer.asynchronous_sends_are_in_flight_together",
        "producer.oneway_send_is_not_answered",
    ],
    "ids, compression, validation before sending": [
        "producer.ids_are_given_once_and_kept",
        "producer.large_bodies_are_compressed",
        "sending.validation_before_sending",
    ],
    # Consuming
    "clustering: a queue belongs to one consumer of a group": [
        "push.queues_are_shared_out_among_members_and_taken_over"
    ],
    "more consumers than queues leave some idle: 10 queues over 11 consumers": [
        "system.ten_queues_over_eleven_consumers"
    ],
    "broadcasting": ["consumer.broadcasting_delivers_to_all_and_keeps_offsets_in_a_file"],
    "allocation averagely (5 over 2: 3, 2; 9 over 4: 3, 2, 2, 2)": [
        "allocation.averagely_as_in_the_design",
        "allocation.each_strategy_gives_what_java_gives",
        "system.averagely",
    ],
    "by circle": ["allocation.each_strategy_gives_what_java_gives", "system.by_circle"],
    "users' own, such as pinning all consumption to one machine by its address": [
        "allocation.pinned_consumption_stays_on_one_machine",
        "system.pinned_to_one_machine",
        "push.allocation_strategy_of_the_program",
    ],
    "rebalance at start": ["push.old_and_new_messages_are_consumed_once"],
    "every 20 s": ["system.queues_are_rebalanced_every_20_seconds"],
    "and when a broker says that members changed": ["system.queues_are_rebalanced_when_members_change"],
    "pull requests per queue, long polling (held, answered on arrival)": [
        "system.a_pull_for_each_queue_is_held_and_answered_on_arrival",
        "pulling.a_pull_may_wait_at_the_broker",
    ],
    "flow control by count, size and span (2,000) of what waits locally": [
        "push.flow_control_by_count",
        "push.flow_control_by_size_and_by_a_topics_share",
        "push.flow_control_by_span",
        "system.limits_of_waiting_messages_are_those_of_rocketmq",
    ],
    "expired messages sent back": ["push.a_message_that_takes_too_long_is_handed_back"],
    "concurrent consumption": ["push.no_more_listeners_at_once_than_configured"],
    "ordered consumption (locks at the broker renewed every 20 s, local locks)": [
        "ordered.each_queue_is_consumed_in_order",
        "ordered.queues_are_locked_and_renewed_every_20_seconds",
        "ordered.one_batch_of_a_queue_at_a_time",
        "ordered.nothing_is_consumed_without_the_lock",
    ],
    "a queue suspended on failure": ["ordered.a_queue_is_suspended_on_failure_and_keeps_its_order"],
    "offsets in the broker (clustering) or in local files (broadcasting)": [
        "push.offsets_are_committed_every_5_seconds_and_found_again",
        "offsets.the_file_is_the_standards_and_in_its_place",
    ],
    "committed with pulls and every 5 s": [
        "push.offsets_ride_on_pulls",
        "push.offsets_are_committed_every_5_seconds_and_found_again",
    ],
    "kept as topic@group": ["system.offsets_are_kept_as_topic_at_group"],
    "filtering by tag hash at the broker and by text at the client, or by SQL": [
        "push.only_tags_that_are_wanted_are_given",
        "push.expressions_choose",
    ],
    # Kinds of message and failure, as clients see them
    "retry topic of the group, delays growing from 10 s to 2 h, 16 times, then the dead-letter topic": [
        "push.failed_messages_come_again_from_the_retry_topic",
        "push.after_too_many_times_it_is_a_dead_letter",
        "system.delays_grow_and_sixteen_retries_are_requested",
    ],
    "delayed in 18 levels": ["producer.delay_levels_and_timers_wait_at_the_broker"],
    "transactional (half message, commit or rollback, check-back)": [
        "transactions.message_is_invisible_during_the_local_work",
        "transactions.outcomes_of_the_local_work",
        "transactions.unknown_outcome_is_checked_by_the_broker",
    ],
}


@pytest.mark.parametrize("line", LINES)
def test_each_line_has_its_tests(line: str) -> None:
    assert LINES[line]
    for place in LINES[line]:
        file, _, name = place.partition(".")
        module = import_module(f"tests.gateway.client.test_{file}")
        assert callable(getattr(module, f"test_{name}", None)), f"there is no {place}"


B_PORT = 20911


def two_brokers(cluster: Cluster, queues: int = 2) -> Any:
    """The topic T on broker-a and broker-b; the second one."""
    cluster.make_topic("T", queues=queues)
    other = cluster.add_broker("broker-b", B_PORT)
    cluster.make_topic("T", queues=queues, port=B_PORT)
    return other


def brokers_of(cluster: Cluster, producer: Any, count: int) -> list[str]:
    """Send `count` messages, and return the broker of each."""
    return [
        cluster.run(producer.send(message, timeout=20)).queue.broker_name for message in messages("T", count)
    ]


def slowed(cluster: Cluster, service: Any, seconds: float) -> Any:
    """Let a broker take its time over sends."""
    faults = Faults(Schedule(cluster.net).pause, service.broker.store.dispatch)
    faults.attach(service.dispatcher)
    return faults.order("delay", SEND, None, seconds=seconds)


def members(cluster: Cluster, count: int, queues: int, strategy: Strategy | None = None, **given: Any) -> Any:
    """So many consumers that share so many queues."""
    cluster.make_topic("T", queues=queues)
    consumers = []
    for number in range(count):
        mine = {
            name: value[number % len(value)] if isinstance(value, list) else value
            for name, value in given.items()
        }
        settings = cluster.settings(mine)
        consumer = PushConsumer("G", cluster.around, Inbox(), strategy=strategy, **settings)
        cluster.run(consumer.subscribe("T"))
        cluster.begin(consumer)
        consumers.append(consumer)
    cluster.settle(5.0)
    return consumers


def shares(consumers: list[PushConsumer]) -> list[list[int]]:
    """The queues of each member, in the order of their client ids."""
    ordered = sorted(consumers, key=lambda one: one.client.client_id)
    return [sorted(queue.queue_id for queue in topics_held(one, "T")) for one in ordered]


def test_next_name_server_is_queried_after_a_failure() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        for seed in range(4):
            producer = cluster.producer(f"P{seed}", namesrv_addr=f"10.0.0.1:1;10.0.0.1:{NAMESRV_PORT}")
            cluster.run(producer.send(Message("T", "x"), timeout=10))
        assert len(cluster.everything("T")) == 4


def test_dead_broker_is_avoided_until_routes_change() -> None:
    with Cluster() as cluster:
        two_brokers(cluster)
        producer = cluster.producer()
        brokers_of(cluster, producer, 4)
        cluster.cut(B_PORT)
        asked = topics_asked_for(cluster)
        assert set(brokers_of(cluster, producer, 8)) == {"broker-a"}
        route = producer.client.routes.route("T")
        assert {one.broker_name for one in route.queue_datas} == {"broker-a", "broker-b"}
        assert "T" not in asked()  # no route has arrived yet
        cluster.mend(B_PORT)


def test_slow_broker_is_avoided_for_some_time() -> None:
    with Cluster() as cluster:
        other = two_brokers(cluster)
        slow = slowed(cluster, other, 0.6)
        producer = cluster.producer(send_latency_enable=True)
        brokers_of(cluster, producer, 4)  # grades both: 600 ms and more are worth two seconds
        assert slow.hits == 1
        assert set(brokers_of(cluster, producer, 6)) == {"broker-a"}
        slow.heal()
        cluster.settle(3.0)
        assert set(brokers_of(cluster, producer, 4)) == {"broker-a", "broker-b"}


def test_when_all_are_slow_one_is_picked() -> None:
    with Cluster() as cluster:
        other = two_brokers(cluster)
        for service in (cluster.service, other):
            slowed(cluster, service, 0.6)
        producer = cluster.producer(send_latency_enable=True)
        assert len(brokers_of(cluster, producer, 6)) == 6


def test_the_detector_finds_a_broker_that_is_back() -> None:
    with Cluster() as cluster:
        two_brokers(cluster)
        producer = cluster.producer(send_latency_enable=True, start_detector_enable=True)
        brokers_of(cluster, producer, 4)
        cluster.cut(B_PORT)
        brokers_of(cluster, producer, 4)
        assert not producer.faults.is_reachable("broker-b")
        cluster.settle(5.0)
        assert not producer.faults.is_reachable("broker-b")
        cluster.mend(B_PORT)
        cluster.wait_for(lambda: producer.faults.is_reachable("broker-b"), seconds=6)


def test_ten_queues_over_eleven_consumers() -> None:
    with Cluster() as cluster:
        held = shares(members(cluster, 11, 10))
        assert sorted(map(len, held)) == [0] + [1] * 10


@pytest.mark.parametrize(("queues", "count", "sizes"), [(5, 2, [3, 2]), (9, 4, [3, 2, 2, 2])])
def test_averagely(queues: int, count: int, sizes: list[int]) -> None:
    with Cluster() as cluster:
        held = shares(members(cluster, count, queues))
        assert list(map(len, held)) == sizes
        assert [number for share in held for number in share] == list(range(queues))


def test_by_circle() -> None:
    with Cluster() as cluster:
        assert shares(members(cluster, 2, 5, AveragelyByCircle())) == [[0, 2, 4], [1, 3]]


def test_pinned_to_one_machine() -> None:
    with Cluster() as cluster:
        machines = ["10.0.0.2", "10.0.0.3"]
        consumers = members(cluster, 4, 5, PinnedTo("10.0.0.2"), client_ip=machines)
        assert list(map(len, shares(consumers))) == [3, 2, 0, 0]


def test_queues_are_rebalanced_every_20_seconds() -> None:
    with Cluster() as cluster:
        consumers = members(cluster, 1, 2)
        seen = requests_seen(cluster)
        cluster.settle(61.0)
        asked = [one for one in seen if one.code == RequestCode.GET_CONSUMER_LIST_BY_GROUP]
        topics = len(consumers[0].subscriptions)  # the retry topic is one
        assert len(asked) == 3 * topics


def test_queues_are_rebalanced_when_members_change() -> None:
    with Cluster() as cluster:
        first = members(cluster, 1, 2)[0]
        assert len(topics_held(first, "T")) == 2
        second = PushConsumer("G", cluster.around, Inbox(), **cluster.settings({}))
        cluster.run(second.subscribe("T"))
        cluster.begin(second)
        cluster.wait_for(lambda: len(topics_held(first, "T")) == 1, seconds=3)


def test_a_pull_for_each_queue_is_held_and_answered_on_arrival() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=3)
        seen, inbox = requests_seen(cluster), Inbox()
        begin(cluster, inbox)
        cluster.settle(3.0)

        def pulls() -> list[int]:
            headers = [
                PullMessageRequestHeader.decode(one.ext_fields)
                for one in seen
                if one.code == RequestCode.PULL_MESSAGE and one.ext_fields["topic"] == "T"
            ]
            assert {one.suspend_timeout_millis for one in headers} <= {15_000}
            return sorted(one.queue_id for one in headers)

        assert pulls() == [0, 1, 2]  # one each, and they wait
        send(cluster, 1)
        cluster.settle()
        assert len(inbox.got) == 1 and len(pulls()) == 4
        cluster.settle(20.0)
        assert len(pulls()) >= 7  # held for 15 s, then sent again


def test_limits_of_waiting_messages_are_those_of_rocketmq() -> None:
    with Cluster() as cluster:
        options = members(cluster, 1, 1)[0].settings
        limits = (
            options.pull_threshold_for_queue,
            options.pull_threshold_size_for_queue,
            options.consume_concurrently_max_span,
        )
        assert limits == (1000, 100, 2000)


def test_offsets_are_kept_as_topic_at_group() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 3)
        inbox = Inbox()
        begin(cluster, inbox)
        cluster.settle(16.0)
        assert cluster.broker.tables.offsets.to_json()["offsetTable"]["T@G"] == {0: 3}


def test_delays_grow_and_sixteen_retries_are_requested() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        send(cluster, 1)
        inbox, times = Inbox(*[False] * 20), list[int]()

        def listener(given: Any, context: Any) -> Any:
            times.append(cluster.clock.millis())
            return inbox(given, context)

        seen = requests_seen(cluster)
        begin(cluster, listener)
        cluster.settle(430.0)
        # The first five come within seven minutes: after 10 s, 30 s, 1, 2 and 3 minutes.
        gaps = [round((later - sooner) / 1000) for sooner, later in pairwise(times)]
        assert [round(gap / 10) for gap in gaps[:5]] == [1, 3, 6, 12, 18]
        backs = [
            ConsumerSendMsgBackRequestHeader.decode(one.ext_fields)
            for one in seen
            if one.code == RequestCode.CONSUMER_SEND_MSG_BACK
        ]
        assert {(one.max_reconsume_times, one.delay_level) for one in backs} == {(16, 0)}
        assert cluster.stored("%DLQ%G") == []
