"""Valid requests that each make a table grow: no table grows beyond its option.

Limits are set low here, so that a few thousand requests exceed them. After each attack `check` counts every
table (`sizes`), and the honest client, which was connected before, is served as before.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any

import pytest

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.bodies import (
    ConsumerData,
    HeartbeatData,
    LockBatchRequestBody,
    MessageQueue,
    ProducerData,
    SubscriptionData,
)
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.grpc import v2
from tests.fuzz.honest import GROUP, TOPIC, HonestClient, check
from tests.fuzz.sizes import check_sizes, table_sizes
from tests.fuzz.world import BROKER_PORT, GRPC_PORT, NAMESRV_PORT, Speaker, World
from tests.support.gateway.broker.helpers import batch_body, pull_header, send_header, subscription
from tests.support.gateway.grpc.client import NetClient, framed
from tests.support.topics import topic_header

MANY = 1500
"""More than any limit of these tests."""
LONG = "x" * 100_000
"""Longer than any name."""


def send_all(
    peer: Speaker, code: int, requests: Iterable[tuple[Header | None, bytes]], **more: Any
) -> list[RemotingCommand]:
    """Send many requests of a code and return their answers, none of which is missing."""
    asked = [peer.send(code, header, body, **more) for header, body in requests]
    peer.world.settle()
    answers = [command for command in peer.take() if command.is_response]
    assert sorted(answer.opaque for answer in answers) == asked
    return sorted(answers, key=lambda answer: answer.opaque)


def taken(answers: list[RemotingCommand]) -> int:
    """Return the number of requests that succeeded."""
    return sum(answer.code == ResponseCode.SUCCESS for answer in answers)


# Topics and groups that do not exist


@pytest.mark.parametrize(
    ("port", "code", "header"),
    [
        (NAMESRV_PORT, RequestCode.GET_ROUTEINFO_BY_TOPIC, {}),
        (NAMESRV_PORT, RequestCode.GET_TOPICS_BY_CLUSTER, {}),
        (NAMESRV_PORT, RequestCode.DELETE_TOPIC_IN_NAMESRV, {}),
        (NAMESRV_PORT, RequestCode.GET_KVLIST_BY_NAMESPACE, {}),
        (BROKER_PORT, RequestCode.PULL_MESSAGE, pull_header("?", group=GROUP, sys_flag=6).encode()),
        (BROKER_PORT, RequestCode.GET_MAX_OFFSET, {"queueId": "0"}),
        (BROKER_PORT, RequestCode.GET_MIN_OFFSET, {"queueId": "0"}),
        (BROKER_PORT, RequestCode.GET_EARLIEST_MSG_STORETIME, {"queueId": "0"}),
        (BROKER_PORT, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"queueId": "0", "timestamp": "0"}),
        (BROKER_PORT, RequestCode.QUERY_CONSUMER_OFFSET, {"queueId": "0", "consumerGroup": GROUP}),
        (
            BROKER_PORT,
            RequestCode.UPDATE_CONSUMER_OFFSET,
            {"queueId": "0", "consumerGroup": GROUP, "commitOffset": "1"},
        ),
        (BROKER_PORT, RequestCode.QUERY_CONSUME_QUEUE, {"queueId": "0", "index": "0", "count": "1"}),
        (BROKER_PORT, RequestCode.GET_CONSUME_STATS, {"consumerGroup": GROUP}),
        (BROKER_PORT, RequestCode.QUERY_CORRECTION_OFFSET, {"compareGroup": GROUP}),
        (BROKER_PORT, RequestCode.DELETE_TOPIC_IN_BROKER, {}),
        (BROKER_PORT, RequestCode.CLONE_GROUP_OFFSET, {"srcGroup": GROUP, "destGroup": "other"}),
    ],
    ids=lambda value: str(int(value)) if isinstance(value, int) else "",
)
def test_unknown_topics_asked_for(port: int, code: int, header: dict[str, str]) -> None:
    """Queries for any number of topics that do not exist leave no entries."""
    with World() as world:
        honest = HonestClient(world)
        honest.check()
        before = table_sizes(world)
        peer = world.meet(port)
        for number in range(MANY):
            name = f"unknown-{number}"
            peer.send(code, ext={**header, "topic": name, "cluster": name, "namespace": name})
        world.settle()
        assert len(peer.take()) == MANY
        assert table_sizes(world) == before
        check(world, honest)


def test_unknown_groups_asked_for() -> None:
    """Groups are created on use up to a limit; a request for another is answered that it does not exist."""
    with World(max_groups=100, max_offsets=200) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        pulls = ((pull_header(TOPIC, group=f"g{n}", sys_flag=5, subscription="*"), b"") for n in range(MANY))
        answers = send_all(peer, RequestCode.PULL_MESSAGE, pulls)
        assert 0 < taken(answers) < 100
        assert answers[-1].code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
        back = headers.ConsumerSendMsgBackRequestHeader
        answers = send_all(
            peer,
            RequestCode.CONSUMER_SEND_MSG_BACK,
            ((back(group=f"h{n}", offset=0, delay_level=0), b"") for n in range(MANY)),
        )
        assert taken(answers) == 0
        one = headers.GetSubscriptionGroupConfigRequestHeader
        send_all(
            peer, RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, ((one(group=f"i{n}"), b"") for n in range(MANY))
        )
        check(world, honest)


def test_sends_to_new_topics() -> None:
    """Topics are created on a send up to a limit; no more are registered at the name server either."""
    with World(max_topics=200, max_stats_keys=150) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        sends = ((send_header(f"new-{n}", default_topic_queue_nums=1), b"x") for n in range(MANY))
        answers = send_all(peer, RequestCode.SEND_MESSAGE_V2, sends)
        assert 0 < taken(answers) <= 200
        assert answers[-1].code == ResponseCode.TOPIC_NOT_EXIST
        check(world, honest)
        assert len(world.broker.tables.topics) <= 200
        honest.check_route()


def test_static_topics_and_their_items() -> None:
    """Mappings of many topics, and of many mapping items."""
    with World(max_topics=200, max_queue_pieces=1000) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)

        def create(topic: str, items: int) -> tuple[Header, bytes]:
            header = topic_header(topic)
            queue = [MappingItem(n, 0, "broker-a", n * 100).to_json() for n in range(items)]
            mapping = {"topic": topic, "bname": "broker-a", "epoch": 1, "hostedQueues": {"0": queue}}
            return header, json.dumps(mapping).encode()

        code = RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC
        assert 0 < taken(send_all(peer, code, (create(f"t{n}", 1) for n in range(MANY)))) <= 200
        assert taken(send_all(peer, code, (create(f"t{n}", 500) for n in range(9)))) <= 2
        assert taken(send_all(peer, code, [create("t1", 1001), create("t1", 10_000)])) == 0
        check(world, honest)


def test_topics_made_by_request() -> None:
    """Administrators, who may be anyone, have the same limits: topics, their queues and their attributes."""
    with World(max_topics=200, max_queues_per_topic=64) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)

        def create(topic: str, queues: int = 1, attributes: str = "") -> tuple[Header, bytes]:
            return topic_header(topic, queues, attributes=attributes), b""

        code = RequestCode.UPDATE_AND_CREATE_TOPIC
        assert 0 < taken(send_all(peer, code, (create(f"t{n}") for n in range(MANY)))) <= 200
        several = [{"topicName": f"s{n}", "readQueueNums": 1} for n in range(MANY)]
        body = json.dumps({"topicConfigList": several}).encode()
        assert peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body).code != 0
        answers = send_all(
            peer,
            code,
            (
                create("t1", 2**31 - 1),
                create("t1", 65),
                create("t1", attributes=",".join(f"+a{n}=b" for n in range(10_000))),
                create("t1", attributes=f"+message.type={LONG}"),
                create("t1", attributes=f"+reserve.time={'9' * 100_000}"),
                create(LONG),
            ),
        )
        assert taken(answers) == 0
        check(world, honest)


def test_groups_made_by_request() -> None:
    """Administrators have the same limits for groups, their settings and the topics forbidden to them."""
    with World(
        max_groups=100, max_forbidden=50, max_group_config_size=2000, max_queues_per_topic=64
    ) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP

        def create(**group: Any) -> tuple[None, bytes]:
            return None, json.dumps(group).encode()

        assert 0 < taken(send_all(peer, code, (create(groupName=f"g{n}") for n in range(MANY)))) <= 100
        several = json.dumps({"groupConfigList": [{"groupName": f"s{n}"} for n in range(MANY)]}).encode()
        assert peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body=several).code != 0
        answers = send_all(
            peer,
            code,
            (
                create(groupName="g1", groupRetryPolicy={"type": LONG}),
                create(groupName="g1", subscriptionDataSet=[{"topic": f"t{n}"} for n in range(10_000)]),
                create(groupName="g1", attributes={"+lite.bind.topic": LONG}),
                create(groupName="g1", retryQueueNums=2**31 - 1),
                create(groupName=LONG),
            ),
        )
        assert taken(answers) == 0
        forbid = headers.UpdateGroupForbiddenRequestHeader
        answers = send_all(
            peer,
            RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
            ((forbid(group=f"g{n % 70}", topic=f"t{n}", readable=False), b"") for n in range(MANY)),
        )
        assert taken(answers) == 50
        check(world, honest)


# Messages


def test_queues_of_a_store() -> None:
    """Queues are created when messages arrive for them, up to a limit; other sends are refused."""
    with World(max_queues=100, max_open_files=16) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        sends = (
            (send_header(f"q{n // 8}", queue_id=n % 8, default_topic_queue_nums=8), b"x") for n in range(400)
        )
        answers = send_all(peer, RequestCode.SEND_MESSAGE_V2, sends)
        assert 50 < taken(answers) <= 100
        check(world, honest)


def test_bodies_and_properties_that_are_too_long() -> None:
    """Each is refused; messages of exactly the maximum length are stored and delivered."""
    with World(max_message_size=100_000, max_transfer_bytes_on_message_in_memory=10**6) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        long_batch = batch_body(*[(bytes(90_000), {})] * 30, (bytes(100_001), {}))
        attacks: list[tuple[Header, bytes]] = [
            (send_header(TOPIC), bytes(100_001)),
            (send_header(TOPIC), bytes(15 * 1024 * 1024)),
            (send_header(TOPIC, {"KEYS": "k" * 32_768}), b"x"),
            (send_header(TOPIC, {f"p{n}": "v" for n in range(20_000)}), b"x"),
            (send_header(TOPIC, {"a\1" * 50_000: "\1" * 50_000}), b"x"),
            (send_header(TOPIC, {"": "\2" * 200_000}), b"x"),
            (send_header(TOPIC, batch=True), long_batch),
            (send_header(TOPIC, batch=True), batch_body((b"x", {"KEYS": "k" * 40_000}))),
        ]
        answers = send_all(peer, RequestCode.SEND_MESSAGE_V2, attacks)
        stored = [number for number, answer in enumerate(answers) if answer.code == 0]
        assert set(stored) <= {4, 5}, stored  # separators alone are no properties
        honest.sent += [b"x"] * len(stored)
        for size in (100_000, 99_999):
            honest.sent.append(bytes(size))
            assert peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(TOPIC), bytes(size)).code == 0
        many_keys = send_header(TOPIC, {"KEYS": " ".join(f"k{n}" for n in range(4000))})
        assert peer.ask(RequestCode.SEND_MESSAGE_V2, many_keys, b"keys").code == 0
        honest.sent.append(b"keys")
        check(world, honest)
        honest.check_everything_sent()


def test_names_without_end() -> None:
    """Long names are refused, and none is stored."""
    with World() as world:
        honest = HonestClient(world)
        honest.check()
        before = table_sizes(world)
        peer = world.meet(BROKER_PORT)
        names = [f"{n}{LONG}" for n in range(20)]
        sends = [(send_header(name), b"x") for name in names]
        assert taken(send_all(peer, RequestCode.SEND_MESSAGE_V2, sends)) == 0
        pulls = [(pull_header(TOPIC, group=name, sys_flag=4, subscription="*"), b"") for name in names]
        assert taken(send_all(peer, RequestCode.PULL_MESSAGE, pulls)) == 0
        heartbeats = [
            HeartbeatData(name, [], [ConsumerData(GROUP, subscription_data_set=[subscription(TOPIC)])])
            for name in names
        ]
        heartbeats += [HeartbeatData("c", [ProducerData(name)]) for name in names]
        assert taken(send_all(peer, RequestCode.HEART_BEAT, ((None, b.encode()) for b in heartbeats))) == 0
        locks = [LockBatchRequestBody(GROUP, name, {MessageQueue(TOPIC, "b", 0)}) for name in names]
        locks += [LockBatchRequestBody(name, "c", {MessageQueue(TOPIC, "b", 0)}) for name in names]
        locks += [LockBatchRequestBody(GROUP, "c", {MessageQueue(name, "b", 0)}) for name in names]
        send_all(peer, RequestCode.LOCK_BATCH_MQ, ((None, lock.encode()) for lock in locks))
        forbid = headers.UpdateGroupForbiddenRequestHeader
        forbidden = [(forbid(group=name, topic=name, readable=False), b"") for name in names]
        assert taken(send_all(peer, RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, forbidden)) == 0
        assert table_sizes(world) == before
        check(world, honest)


# Clients


def heart_beats(peer: Speaker, heartbeats: Iterable[HeartbeatData]) -> list[RemotingCommand]:
    """Send all heartbeats and return their answers."""
    return send_all(peer, RequestCode.HEART_BEAT, ((None, heartbeat.encode()) for heartbeat in heartbeats))


def consumer(group: str, *subscriptions: SubscriptionData) -> ConsumerData:
    """Return a consumer as clients send it in a heartbeat."""
    return ConsumerData(
        group, "CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_FIRST_OFFSET", list(subscriptions)
    )


def test_groups_of_a_client() -> None:
    """The groups of one client are limited, in one heartbeat or in many, and so are those of all clients."""
    limits = {"max_groups_per_client": 40, "max_groups_online": 100, "max_groups": 300, "max_topics": 300}
    with World(**limits) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        (answer,) = heart_beats(peer, [HeartbeatData("c", [ProducerData(f"p{n}") for n in range(MANY)])])
        assert answer.code != 0
        answers = heart_beats(peer, (HeartbeatData("c", [ProducerData(f"p{n}")]) for n in range(MANY)))
        assert taken(answers) == 40
        for round_ in range(5):
            other = world.meet(BROKER_PORT)
            heart_beats(other, (HeartbeatData("c", [], [consumer(f"c{round_}-{n}")]) for n in range(100)))
        check(world, honest)
        peer.leave()
        again = world.meet(BROKER_PORT)
        assert taken(heart_beats(again, [HeartbeatData("c", [ProducerData("p")])])) == 1


def test_clients_of_a_group() -> None:
    """The connections of a group are limited; a connection that changes its client id still counts once."""
    with World(max_clients_per_group=30) as world:
        honest = HonestClient(world)
        honest.check()
        heartbeat = HeartbeatData("c", [ProducerData("P")], [consumer("C", subscription(TOPIC))])
        peers = [world.meet(BROKER_PORT) for _ in range(100)]
        assert sum(taken(heart_beats(peer, [heartbeat])) for peer in peers) == 30
        names = (HeartbeatData(f"c{n}", [ProducerData("P")], [consumer("C")]) for n in range(MANY))
        assert taken(heart_beats(peers[0], names)) == MANY
        check(world, honest)


def test_subscriptions_without_end() -> None:
    """Topics of a group, tags of a subscription, length of its texts and of a heartbeat are limited."""
    limits: dict[str, Any] = {"max_subscriptions_per_group": 50, "max_tags_per_subscription": 40}
    with World(**limits, max_subscription_text=20_000, max_heartbeat_body_size=200_000) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        tags = [f"t{n}" for n in range(1000)]
        hostile = [
            [subscription(f"t{n}") for n in range(51)],
            [subscription("T", " || ".join(tags))],
            [SubscriptionData("T", "a", 1, "TAG", tags, [])],
            [SubscriptionData("T", "a", 1, "TAG", [], list(range(1000)))],
            [SubscriptionData("T", "x" * 20_001)],
            [SubscriptionData("T", "a", 1, "x" * 20_001)],
            [SubscriptionData("T", "a", 1, "TAG", ["x" * 20_001], [1])],
            [SubscriptionData("x" * 20_001, "*")],
            [SubscriptionData(f"t{n}", "x" * 1000) for n in range(30)],
            [SubscriptionData("T", "x" * 200_000)],
        ]
        answers = heart_beats(
            peer, (HeartbeatData("c", [], [consumer("C", *subscriptions)]) for subscriptions in hostile)
        )
        assert taken(answers) == 0
        changing = (HeartbeatData("c", [], [consumer("C", subscription(f"t{n}"))]) for n in range(MANY))
        assert taken(heart_beats(peer, changing)) == MANY
        pull = pull_header(TOPIC, group=GROUP, sys_flag=4, subscription=" || ".join(tags))
        assert peer.ask(RequestCode.PULL_MESSAGE, pull).code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
        check(world, honest)


def sql(topic: str, text: str, version: int = 1) -> SubscriptionData:
    """Return a subscription by SQL expression."""
    return SubscriptionData(topic, text, version, "SQL92")


HARD = [
    "(" * 20_000,
    "NOT " * 20_000 + "a",
    "a=1" + " AND a=1" * 3000,
    "a" * 30_000,
    "a IN (" + "'b'," * 9000,
]
HARD += ["-" * 30_000 + "1=a", "'" * 30_001, "\0", "a=1e99999", "a=" + "9" * 30_000, "a BETWEEN" * 3000]


def test_expressions_without_end() -> None:
    """The number of stored expressions is limited over changing groups and topics; hard texts do no harm."""
    limits: dict[str, Any] = {"max_filter_data": 100, "max_subscriptions_per_group": 20}
    with World(enable_property_filter=True, **limits) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        for text in ("a=1", "a="):
            subscriptions = (
                consumer("C", *(sql(f"t{n % 7}-{n}", text, n) for n in range(k, k + 9))) for k in range(200)
            )
            heart_beats(peer, (HeartbeatData("c", [], [one]) for one in subscriptions))
            check(world, honest)
        send_all(
            peer, RequestCode.UNREGISTER_CLIENT, [(None, b"")], ext={"clientID": "c", "consumerGroup": "C"}
        )
        heart_beats(peer, (HeartbeatData("c", [], [consumer("D", sql("t", text))]) for text in HARD))
        pulls = (
            pull_header(TOPIC, group=GROUP, sys_flag=4, subscription=text, expression_type="SQL92")
            for text in HARD
        )
        send_all(peer, RequestCode.PULL_MESSAGE, ((pull, b"") for pull in pulls))
        questions = (json.dumps({"subscriptionData": sql("t", text).to_json()}).encode() for text in HARD)
        send_all(peer, RequestCode.CHECK_CLIENT_CONFIG, ((None, body) for body in questions))
        check(world, honest)


def test_queue_locks() -> None:
    """Locks of one group and of many, of queues that do not exist; locks that are not renewed expire."""
    with World(max_queue_locks_per_group=100, max_groups_online=50) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)
        queues = {MessageQueue(f"t{n}", "b", n) for n in range(MANY)}
        answer = peer.ask(RequestCode.LOCK_BATCH_MQ, body=LockBatchRequestBody("G", "c", queues).encode())
        assert len(json.loads(answer.body)["lockOKMQSet"]) == 100
        one = {MessageQueue(TOPIC, "b", 0)}
        locks = (LockBatchRequestBody(f"g{n}", "c", one).encode() for n in range(MANY))
        send_all(peer, RequestCode.LOCK_BATCH_MQ, ((None, lock) for lock in locks))
        check(world, honest)
        for _ in range(4):
            world.settle(20.0)
            check(world, honest)
        assert not world.broker.clients.locks._groups


# Offsets


def test_consumer_offsets() -> None:
    """Offsets of queues that do not exist, of existing groups and topics, are stored up to a limit."""
    with World(max_offsets=300, max_queues_per_topic=64) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(BROKER_PORT)

        def commits(group: str, topic: str) -> Iterable[tuple[Header, bytes]]:
            for number in range(MANY):
                queue_id = number - MANY // 2
                yield (
                    headers.UpdateConsumerOffsetRequestHeader(
                        consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=-number
                    ),
                    b"",
                )

        code = RequestCode.UPDATE_CONSUMER_OFFSET
        assert taken(send_all(peer, code, commits("unknown", TOPIC))) == 0
        assert taken(send_all(peer, code, commits(GROUP, "unknown"))) == 0
        assert taken(send_all(peer, code, commits(GROUP, TOPIC))) <= 300
        world.settle(6.0)  # the table is written
        check(world, honest)
        clone = headers.CloneGroupOffsetRequestHeader
        clones = ((clone(src_group=GROUP, dest_group=f"d{n}", topic=TOPIC), b"") for n in range(20))
        send_all(peer, RequestCode.CLONE_GROUP_OFFSET, clones)
        reset = headers.ResetOffsetRequestHeader
        resets = (
            (reset(topic=TOPIC, group=f"r{n}", queue_id=0, offset=0, timestamp=0, is_force=True), b"")
            for n in range(400)
        )
        send_all(peer, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, resets)
        check(world, honest)


# The name server


def registration(name: str, topics: Iterable[str], **header: Any) -> tuple[Header, bytes]:
    """Return the registration of a broker with this name."""
    config = {"readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
    wrapper = {"topicConfigTable": dict.fromkeys(topics, config), "dataVersion": {"counter": 1}}
    usual: dict[str, Any] = {
        "broker_name": name,
        "broker_addr": f"10.7.7.7:{name}",
        "cluster_name": "C",
        "ha_server_addr": "10.7.7.7:1",
        "broker_id": 0,
    }
    body = json.dumps({"topicConfigSerializeWrapper": wrapper, "filterServerList": []}).encode()
    return headers.RegisterBrokerRequestHeader(**usual | header), body


def test_brokers_without_end() -> None:
    """Names, addresses, ids, clusters and queues of pretended brokers are limited and end with the peer."""
    limits = {"max_brokers": 50, "max_topics": 400, "max_queue_data": 600}
    with World(**limits) as world:
        honest = HonestClient(world)
        honest.check()
        before = table_sizes(world)
        peer = world.meet(NAMESRV_PORT)
        code = RequestCode.REGISTER_BROKER
        assert 0 < taken(send_all(peer, code, (registration(f"b{n}", ["T", "U"]) for n in range(300)))) < 50
        clusters = (registration("b1", [], cluster_name=f"c{n}", broker_addr=f"a{n}") for n in range(300))
        send_all(peer, code, clusters)
        ids = (registration("b1", [], broker_id=n, broker_addr=f"i{n}") for n in range(300))
        send_all(peer, code, ids)
        many_topics = (registration(f"b{n}", (f"t{n}-{k}" for k in range(100))) for n in range(20))
        assert 0 < taken(send_all(peer, code, many_topics)) < 5
        heavy = registration("b3", (f"heavy{k}" for k in range(20_000)))
        assert taken(send_all(peer, code, [heavy])) == 0
        check(world, honest)
        peer.leave()
        world.settle(1.0)
        after = table_sizes(world)
        assert after == before | {what: after[what] for what in ("kept route answers", "open files")}
        check(world, honest)


def test_registrations_of_single_topics() -> None:
    """Queues may be registered for existing brokers, up to the same limits."""
    with World(max_topics=300, max_queue_data=300) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(NAMESRV_PORT)
        queues = {"brokerName": "broker-a", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
        body = json.dumps({"queueDatas": [queues], "brokerDatas": []}).encode()
        one = headers.RegisterTopicRequestHeader
        assert taken(send_all(peer, RequestCode.REGISTER_TOPIC_IN_NAMESRV, [(one(topic=LONG), body)])) == 0
        answers = send_all(
            peer, RequestCode.REGISTER_TOPIC_IN_NAMESRV, ((one(topic=f"t{n}"), body) for n in range(MANY))
        )
        assert 0 < taken(answers) <= 300
        check(world, honest)


def test_registrations_that_inflate() -> None:
    """A few kilobytes that would inflate to gigabytes are refused before that."""
    with World(max_registration_size=100_000) as world:
        honest = HonestClient(world)
        honest.check()
        before = table_sizes(world)
        peer = world.meet(NAMESRV_PORT)
        bomb = zlib.compressobj(9)
        zeros = bytes(1 << 20)
        body = b"".join([*(bomb.compress(zeros) for _ in range(100)), bomb.flush()])
        assert len(body) < 110_000
        bodies = [body, zlib.compress(bytes(100_001)), zlib.compress(b"\x7f\xff\xff\xff" * 25_000)]
        header, _ = registration("bomb", [], compressed=True)
        answers = send_all(peer, RequestCode.REGISTER_BROKER, ((header, bomb) for bomb in bodies * 10))
        assert taken(answers) == 0
        assert table_sizes(world) == before
        check(world, honest)


def test_the_kv_table() -> None:
    """Entries, namespaces and their lengths are limited; existing ones can still be changed and removed."""
    with World(max_kv_entries=100, max_kv_entry_length=1000, max_kv_size=50_000) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(NAMESRV_PORT)
        put = headers.PutKVConfigRequestHeader

        def puts(requests: Iterable[tuple[str, str, str]]) -> int:
            values = ((put(namespace=space, key=key, value=value), b"") for space, key, value in requests)
            return taken(send_all(peer, RequestCode.PUT_KV_CONFIG, values))

        assert puts((f"n{n}", "k", "v") for n in range(60)) == 60
        assert puts(("n", f"k{n}", "v") for n in range(200)) == 40
        assert puts([("n", "k0", "x" * 1000), ("n", LONG, "v"), (LONG, "k", "v")]) == 0
        assert 40 < puts((f"n{n}", "k", "x" * 990) for n in range(60)) < 52
        assert puts([("n", "k0", "w")]) == 1
        delete = headers.DeleteKVConfigRequestHeader
        gone = ((delete(namespace=f"n{n}", key="k"), b"") for n in range(60))
        assert taken(send_all(peer, RequestCode.DELETE_KV_CONFIG, gone)) == 60
        assert puts([("n", "k1", "x" * 900)]) == 1
        check(world, honest)


def test_departures_without_request() -> None:
    """Unregistrations of brokers that do not exist, limited in number at a time, harm no live broker."""
    with World(max_brokers=50) as world:
        honest = HonestClient(world)
        honest.check()
        peer = world.meet(NAMESRV_PORT)
        leave = headers.UnRegisterBrokerRequestHeader
        send_all(
            peer,
            RequestCode.UNREGISTER_BROKER,
            (
                (leave(broker_name=f"b{n}", broker_addr=f"a{n}", cluster_name="C", broker_id=0), b"")
                for n in range(MANY)
            ),
        )
        world.settle(1.0)
        check(world, honest)


def test_clients_of_grpc_without_end() -> None:
    """Clients are registered by a receive or by their settings."""
    with World(max_grpc_clients=5) as world:
        client = NetClient(world.settle)
        world.net.meet(GRPC_PORT, client, ("192.168.6.6", 30_000))
        publishing = v2.Publishing(topics=[v2.Resource(name="T")])
        settings = v2.Settings(client_type=v2.ClientType.PRODUCER, publishing=publishing)
        said = {
            "Telemetry": v2.TelemetryCommand(settings=settings),
            "ReceiveMessage": v2.ReceiveMessageRequest(group=v2.Resource(name="G")),
        }
        for number in range(20):
            for method, words in said.items():
                path = f"/apache.rocketmq.v2.MessagingService/{method}"
                stream = client.open(path, x_mq_client_id=f"{method}{number}")
                client.h2.send_data(stream, framed(words.SerializeToString()), end_stream=True)
                client.pump()
                check_sizes(world)
        assert table_sizes(world)["clients of gRPC"] == 5
        assert client.lost is None
