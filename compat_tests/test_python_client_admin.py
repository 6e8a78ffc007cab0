"""Administration from Python: we can parse the answer of both servers to every request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.patience import PATIENT
from compat_tests.support.peers import Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import BROKER_NAME, Server
from mqgateway.engine.message import parse_offset_message_id
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import (
    Admin,
    BrokerError,
    Message,
    MessageQueue,
    Producer,
    PushConsumer,
    SendResult,
    admin_broker,
    admin_consumers,
    admin_groups,
    admin_messages,
    admin_names,
    admin_topics,
)
from mqgateway.gateway.client.admin_question import QUESTIONS, Question
from mqgateway.gateway.codec.bodies import QueueData

pytestmark = pytest.mark.overlap

FIRST: dict[str, Any] = {
    "consume_from_where": "CONSUME_FROM_FIRST_OFFSET",
    "persist_consumer_offset_interval": 500,
}


class Office:
    """A topic of two queues with messages, a group that has consumed them, and the administration client."""

    def __init__(self, server: Server, admin: Admin, topic: str, group: str) -> None:
        self.server, self.admin, self.topic, self.group = server, admin, topic, group
        self.results: list[SendResult] = []
        self.client_id = ""
        self.asked: set[int] = set()

    def ask(self, question: Question[Any]) -> Any:
        """Send a request to the broker and return the answer."""
        self.asked.add(question.code)
        return self.admin.ask(question, BROKER_NAME, 10)

    def ask_names(self, question: Question[Any]) -> Any:
        """Send a request to the name server and return the answer."""
        self.asked.add(question.code)
        return self.admin.ask_name_server(question)


@contextmanager
def office(kind: str, peers: Peers) -> Iterator[Office]:
    """Create topic and group by our own administration, and consume the topic."""
    server = peers.server(kind)
    namer = peers.with_server(server, CURRENT)
    topic, group = namer.name("py_admin"), namer.name("py_admin")
    with Admin(server.namesrv_address) as admin:
        here = Office(server, admin, topic, group)
        wait_until(lambda: BROKER_NAME in admin.brokers(), 30, "the broker has registered")
        admin.create_topic(TopicConfig(topic, 2, 2))
        admin.create_group(SubscriptionGroupConfig(group, retry_max_times=3))
        wait_until(lambda: here.ask_names(admin_names.route(topic)) is not None, 20, "the topic has a route")
        got: list[Any] = []
        consumer = PushConsumer(group, lambda given, _: got.extend(given), server.namesrv_address, **FIRST)
        consumer.subscribe(topic)
        with Producer(f"{group}_P", server.namesrv_address, **PATIENT) as producer, consumer:
            here.results = [producer.send(Message(topic, f"{n}", keys=f"key{n}")) for n in range(4)]
            wait_until(lambda: len(got) >= 4, 60, "everything is consumed")
            here.client_id = consumer.client_id
            time.sleep(12)  # offsets are committed for the first time after 10 s
            yield here


def test_every_request_that_reads(kind: str, peers: Peers) -> None:
    """Requests that only read; each answer shows the actions before."""
    with office(kind, peers) as here:
        topic, group, queue = here.topic, here.group, MessageQueue(here.topic, BROKER_NAME, 0)
        ask, names = here.ask, here.ask_names
        assert here.admin.queues(topic) == [queue, MessageQueue(topic, BROKER_NAME, 1)]
        # Name servers
        assert BROKER_NAME in names(admin_names.cluster_info()).broker_addr_table
        cluster = here.admin.brokers()[BROKER_NAME].cluster
        assert names(admin_names.member_group(cluster, BROKER_NAME)).broker_addrs
        for question in (admin_names.all_topics(), admin_names.topics_of_cluster(cluster)):
            assert topic in names(question)
        assert names(admin_names.system_topics())
        for question in (
            admin_names.unit_topics(),
            admin_names.topics_with_unit_readers(),
            admin_names.plain_topics_with_unit_readers(),
        ):
            assert isinstance(names(question), set)
        assert "listenPort" in names(admin_names.settings())
        # Topics and messages
        assert ask(admin_topics.config(topic)).read_queue_nums == 2
        assert topic in ask(admin_topics.all_configs())
        assert sum(one.max_offset for one in ask(admin_topics.stats(topic)).offset_table.values()) == 4
        assert ask(admin_topics.groups(topic)) == {group}
        assert len(ask(admin_topics.time_spans(topic, group))) == 2
        assert ask(admin_topics.system_topics())
        assert ask(admin_messages.max_offset(queue)) == 2 and ask(admin_messages.min_offset(queue)) == 0
        assert ask(admin_messages.offset_at(queue, 0)) == 0
        assert ask(admin_messages.earliest_store_time(queue)) > 0
        assert len(ask(admin_messages.queue_entries(queue, 0, 10)).queue_data) == 2
        wait_until(lambda: ask(admin_messages.by_key(topic, "key2")), 20, "the index knows the key")
        sent = here.results[1]
        _, _, offset = parse_offset_message_id(sent.offset_message_id)
        assert ask(admin_messages.at(offset)).body == b"1"
        # Groups and clients
        assert ask(admin_groups.config(group)).retry_max_times == 3
        assert group in ask(admin_groups.all_configs())
        progress = ask(admin_groups.progress(group, [topic])).offset_table
        assert [one.consumer_offset for one in progress.values()] == [2, 2]
        assert ask(admin_groups.all_progress()).consume_stats_list
        assert topic in ask(admin_groups.topics(group))
        assert ask(admin_groups.subscription(group, topic)).sub_string == "*"
        assert ask(admin_groups.offset(group, queue)) == 2
        assert ask(admin_groups.all_offsets())[f"{topic}@{group}"] == {0: 2, 1: 2}
        assert isinstance(ask(admin_groups.correction_offsets(topic, group)), dict)
        assert isinstance(ask(admin_groups.all_modes()), dict)
        assert ask(admin_consumers.members(group)) == [here.client_id]
        assert ask(admin_consumers.connections(group)).connection_set[0].client_id == here.client_id
        assert ask(admin_consumers.producer_connections(f"{group}_P")).connection_set
        assert f"{group}_P" in ask(admin_consumers.producers())
        assert queue in ask(admin_consumers.running_info(group, here.client_id)).mq_table
        assert here.client_id in ask(admin_consumers.status(group, topic))
        direct = admin_consumers.consume_directly(group, here.client_id, sent.offset_message_id, topic)
        assert ask(direct).consume_result == "CR_SUCCESS"
        assert ask(admin_consumers.waiting_pops(group, topic)) == 0
        # The broker
        assert ask(admin_broker.settings())["brokerName"] == BROKER_NAME
        assert "msgPutTotalTodayNow" in ask(admin_broker.figures())
        assert ask(admin_broker.counter("TOPIC_PUT_NUMS", topic)).stats_day is not None
        assert isinstance(ask(admin_broker.delay_offsets()), dict)
        assert len(ask(admin_broker.timer_check_point())) == 56
        assert isinstance(ask(admin_broker.timer_counts()), dict)
        assert isinstance(ask(admin_broker.cold_reads()), dict)
        assert len(here.asked) > 45 and here.asked <= set(QUESTIONS)


def test_every_request_that_changes_the_server(kind: str, peers: Peers) -> None:
    """Requests that change the server; the changes are read back."""
    with office(kind, peers) as here:
        topic, group, queue = here.topic, here.group, MessageQueue(here.topic, BROKER_NAME, 0)
        ask, names = here.ask, here.ask_names
        names(admin_names.put_value("space", "key", "grün"))
        assert names(admin_names.value("space", "key")) == "grün"
        assert names(admin_names.values("space")) == {"key": "grün"}
        names(admin_names.delete_value("space", "key"))
        assert names(admin_names.value("space", "key")) is None
        names(admin_names.update_settings({"orderMessageEnable": "false"}))
        names(admin_names.register_topic(f"{topic}_told", [QueueData(BROKER_NAME, 1, 1, 6)]))
        names(admin_names.forget_topic(f"{topic}_told"))
        count = names(admin_names.forbid_writing(BROKER_NAME))
        assert count > 0 and names(admin_names.allow_writing(BROKER_NAME)) == count
        ask(admin_topics.update(TopicConfig(topic, 3, 3)))
        assert ask(admin_topics.config(topic)).write_queue_nums == 3
        ask(admin_topics.update_many([TopicConfig(f"{topic}_one"), TopicConfig(f"{topic}_two")]))
        here.admin.delete_topic(f"{topic}_one")
        ask(admin_topics.delete(f"{topic}_two"))
        assert not {f"{topic}_one", f"{topic}_two"} & set(ask(admin_topics.all_configs()))
        ask(admin_groups.update_many([SubscriptionGroupConfig(f"{group}_other")]))
        ask(admin_groups.clone_offsets(group, f"{group}_other", topic))
        assert ask(admin_groups.offset(f"{group}_other", queue)) == 2
        ask(admin_groups.set_offset(f"{group}_other", queue, 1))
        assert ask(admin_groups.offset(f"{group}_other", queue)) == 1
        ask(admin_groups.set_mode(f"{group}_other", topic, "POP", 1))
        assert ask(admin_groups.all_modes())[topic][f"{group}_other"].mode == "POP"
        assert ask(admin_groups.allow_reading(f"{group}_other", topic, False)) is False
        assert ask(admin_groups.allow_reading(f"{group}_other", topic, True)) is True
        ask(admin_groups.delete(f"{group}_other", with_offsets=True))
        reset = here.admin.reset_offsets(group, topic, admin_groups.EARLIEST)
        assert set(reset.values()) == {0}
        ask(admin_broker.update_settings({"traceOn": "true"}))
        for question in (
            admin_broker.clean_queues(),
            admin_broker.clean_unused_topics(),
            admin_broker.delete_expired_log(),
            admin_broker.limit_cold_reads({group: 1_000_000}),
            admin_broker.unlimit_cold_reads(group),
            admin_broker.set_read_mode(admin_broker.NORMAL_READS),
        ):
            ask(question)


def test_deliveries_of_delayed_messages_are_counted(kind: str, peers: Peers) -> None:
    """A delayed message is taken from the schedule topic by a group of its own, and put into its topic."""
    server = peers.server(kind)
    topic = peers.with_server(server, CURRENT).name("counted")
    with Admin(server.namesrv_address) as admin:

        def is_counted(name: str, key: str) -> bool:
            try:
                return admin.ask(admin_broker.counter(name, key), BROKER_NAME).stats_minute is not None
            except BrokerError as refused:
                assert f"The stats <{name}> <{key}> not exist" in str(refused)
                return False

        wait_until(lambda: BROKER_NAME in admin.brokers(), 30, "the broker has registered")
        admin.create_topic(TopicConfig(topic, 1, 1))
        assert not is_counted("TOPIC_PUT_NUMS", topic)
        with Producer(f"{topic}_P", server.namesrv_address, **PATIENT) as producer:
            producer.send(Message(topic, "late", delay_level=1))
        for name, key in (
            ("TOPIC_PUT_NUMS", "SCHEDULE_TOPIC_XXXX"),
            ("TOPIC_PUT_NUMS", topic),
            ("TOPIC_PUT_SIZE", topic),
            ("GROUP_GET_NUMS", "SCHEDULE_TOPIC_XXXX@SCHEDULE_CONSUMER"),
            ("GROUP_GET_SIZE", "SCHEDULE_TOPIC_XXXX@SCHEDULE_CONSUMER"),
        ):
            wait_until(partial(is_counted, name, key), 20, f"{name} of {key}")


@pytest.mark.parametrize("name", ["Unknown", "%RETRY%Unknown"])
def test_refusals_have_the_same_code(kind: str, peers: Peers, name: str) -> None:
    """An unknown topic and an unknown group are refused with the same codes."""
    server = peers.server(kind)
    with Admin(server.namesrv_address) as admin:
        wait_until(lambda: BROKER_NAME in admin.brokers(), 30, "the broker has registered")
        questions: tuple[tuple[Question[Any], int], ...] = (
            (admin_topics.stats(name), 17),
            (admin_consumers.connections(name), 206),
        )
        for question, code in questions:
            with pytest.raises(BrokerError) as refused:
                admin.ask(question, BROKER_NAME)
            assert refused.value.code == code
