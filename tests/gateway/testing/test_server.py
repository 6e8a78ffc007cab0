"""A server for tests: its messages, time, faults and crashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.client import admin_groups
from mqgateway.gateway.client.admin import Admin
from mqgateway.gateway.client.errors import BrokerError, SendFailed, TimedOut, Unreachable
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.client.transactions import TransactionProducer
from mqgateway.gateway.testing.faults import PULL, SEND
from mqgateway.gateway.testing.nodes import ServerError
from mqgateway.gateway.testing.server import COMMIT_SECONDS, Server
from tests.support.gateway.testing.hands import HOST, HandLoop, Hands, hands


def bodies(messages: Sequence[ReceivedMessage]) -> list[bytes]:
    return [message.body for message in messages]


class Inbox:
    def __init__(self, fails: int = 0) -> None:
        self.got: list[ReceivedMessage] = []
        self.fails = fails

    def __call__(self, given: Sequence[ReceivedMessage], context: Any) -> bool:
        self.got += given
        self.fails -= 1
        return self.fails < 0


def test_sent_messages_are_stored() -> None:
    with hands() as held:
        topic = held.server.create_topic()
        producer = held.producer()
        for body in (b"a", b"b"):
            held.send(producer, Message(topic, body))
        held.server.wait_for_messages(topic, 2)
        assert bodies(held.server.messages(topic)) == [b"a", b"b"]
        assert held.server.messages("unknown") == []
        assert held.server.broker_address == f"{HOST}:10911"


ACCESS: dict[str, Any] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "inner_client_authentication_credentials": '{"accessKey":"inner","secretKey":"hidden"}',
}


def test_users_are_limited_by_their_policies() -> None:
    with hands(**ACCESS) as held:
        topic, other = held.server.create_topic(), held.server.create_topic()
        held.server.create_user("alice", "alice's", {f"Topic:{topic}": ["Pub"]})
        held.server.create_user("bob", "bob's")
        alice = held.producer(access_key="alice", secret_key="alice's")
        held.send(alice, Message(topic, b"a"))
        for producer, where in (
            (alice, other),
            (held.producer(access_key="bob", secret_key="bob's"), topic),
            (held.producer(), topic),
        ):
            with pytest.raises(SendFailed):
                held.send(producer, Message(where, b"no"))
        assert bodies(held.server.messages(topic)) == [b"a"] and not held.server.messages(other)


def test_there_are_users_with_access_control_only() -> None:
    with hands() as held, pytest.raises(ServerError, match="authenticationEnabled"):
        held.server.create_user("alice", "alice's")


def test_topics_and_groups_have_names_and_fields() -> None:
    with hands() as held:
        server = held.server
        names = {server.create_topic(), server.create_topic(), server.create_topic("mine", 2)}
        assert len(names) == 3 and "mine" in names
        server.create_topic("fifo", 1, attributes={"message.type": "FIFO"})
        group = server.create_group(retry_max_times=1)
        found = server.run(
            lambda: (server.broker.tables.topics.get("fifo"), server.broker.tables.groups.get(group))
        )
        assert found[0] is not None and found[0].attributes == {"message.type": "FIFO"}
        assert found[1] is not None and found[1].retry_max_times == 1


def test_lag_of_a_group() -> None:
    with hands() as held:
        topic, inbox = held.server.create_topic(), Inbox()
        producer = held.producer()
        for number in range(5):
            held.send(producer, Message(topic, str(number)))
        assert held.server.behind("G", topic) == 5
        with pytest.raises(ServerError, match=r"within 0.1 s: 5 messages are left, 0 members are there"):
            held.server.wait_until_consumed("G", topic, 0.1)
        held.consumer(inbox, topic)
        held.server.wait_until_consumed("G", topic, 20)
        assert held.server.behind("G", topic) == 0 and len(inbox.got) == 5


def test_a_service_that_starts_meanwhile_is_waited_for_until_its_first_commit() -> None:
    """The next pull is sent while the listener is busy, so only the periodic commit after 10 s counts."""
    with hands() as held:
        topic, done = held.server.create_topic(queues=1), Deferred[None]()
        held.send(held.producer(), Message(topic, "book"))
        first = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", "client_ip": "10.0.0.2"}
        service = PushConsumer(
            "G", held.loop, lambda given, _: done, namesrv_addr=held.server.namesrv, **first
        )
        held.loop.call(service.subscribe, topic)
        held.loop.net.callLater(2.0, service.start)
        held.loop.net.callLater(4.0, done.callback, None)
        began = held.loop.net.seconds()
        held.server.wait_until_consumed("G", topic)
        assert 12 <= held.loop.net.seconds() - began < COMMIT_SECONDS
        held.loop.call(service.close)


def test_popped_message_is_consumed_once_acknowledged() -> None:
    with hands() as held:
        topic, done = held.server.create_topic(queues=1), Deferred[None]()
        mode = admin_groups.set_mode("G", topic, "POP")
        admin = Admin(held.loop, namesrv_addr=held.server.namesrv, client_ip="10.0.0.2")
        held.loop.call(admin.start)
        held.loop.call(admin.ask, mode, "broker-a")
        held.loop.call(admin.close)
        held.send(held.producer(), Message(topic, "slow"))
        held.consumer(lambda given, _: done, topic, client_rebalance=False)
        held.wait_for(lambda: held.server.behind("G", topic) == 0)
        with pytest.raises(ServerError, match="1 messages are left, 1 members are there"):
            held.server.wait_until_consumed("G", topic, 1.0)
        done.callback(None)
        held.server.wait_until_consumed("G", topic)


def test_delays_take_no_time() -> None:
    with hands() as held:
        topic = held.server.create_topic()
        producer, began = held.producer(), held.loop.net.seconds()
        held.send(producer, Message(topic, "level", delay_level=18))
        held.send(producer, Message(topic, "timer", delay_millis=600_000))
        held.loop.settle(1.0)
        assert held.server.messages(topic) == []
        held.server.advance(7200)
        held.server.wait_for_messages(topic, 2, 5)
        assert held.loop.net.seconds() - began < 10


def test_retries_take_no_time_until_they_are_dead_letters() -> None:
    with hands() as held:
        topic, inbox = held.server.create_topic(), Inbox(fails=3)
        held.send(held.producer(), Message(topic, "bad"))
        held.consumer(inbox, topic, max_reconsume_times=2)
        for count in (1, 2, 3):
            held.wait_for(lambda count=count: len(inbox.got) == count)  # type: ignore[misc]
            held.loop.settle(0.5)
            held.server.advance(60)
        assert [one.reconsume_times for one in inbox.got] == [0, 1, 2]
        held.wait_for(lambda: held.server.dead_letters("G"))
        assert bodies(held.server.dead_letters("G")) == [b"bad"]


def test_check_backs_take_no_time() -> None:
    class Forgetful:
        asked = 0

        def execute(self, message: Message, argument: Any) -> TransactionState:
            return TransactionState.UNKNOWN

        def check(self, message: ReceivedMessage) -> TransactionState:
            self.asked += 1
            return TransactionState.COMMIT

    with hands() as held:
        topic, listener = held.server.create_topic(), Forgetful()
        producer = TransactionProducer("T", held.loop, listener, **held._given({}))
        held._begun(producer)
        held.loop.call(producer.send_in_transaction, Message(topic, "half"))
        held.loop.settle(2.0)
        assert (held.server.messages(topic), listener.asked) == ([], 0)
        held.server.advance(90)
        held.server.wait_for_messages(topic, 1, 5)
        assert listener.asked == 1


def test_a_half_message_of_after_a_leap_is_not_old() -> None:
    with hands() as held:
        topic = held.server.create_topic()
        held.server.advance(3600)
        held.send(held.producer(), Message(topic, "dated"))
        found = held.server.messages(topic)[0]
        assert abs(found.born_timestamp - found.store_timestamp) < 1000


def test_a_leap_of_days_leaves_members_where_they_are() -> None:
    with hands() as held:
        topic, inbox = held.server.create_topic(), Inbox()
        consumer = held.consumer(inbox, topic)
        producer = held.producer()
        held.loop.settle(3.0)
        held.server.advance(86_400)
        held.loop.settle(15.0)
        assert held.server.run(lambda: held.server.broker.clients.consumer_ids("G")) == [
            consumer.client.client_id
        ]
        held.send(producer, Message(topic, "after"))
        held.wait_for(lambda: len(inbox.got) == 1)


def test_time_may_run_faster() -> None:
    with hands(speed=100) as held:
        topic = held.server.create_topic()
        held.send(held.producer(), Message(topic, "in ten seconds", delay_level=3))
        held.loop.settle(0.05)
        assert held.server.messages(topic) == []
        held.loop.settle(0.2)
        assert len(held.server.messages(topic)) == 1


def test_requests_are_refused_lost_late_or_cut_off_on_request() -> None:
    with hands() as held:
        topic, server = held.server.create_topic(), held.server
        producer = held.producer(retry_times_when_send_failed=0)
        server.refuse(SEND, code=16, remark="not now")
        with pytest.raises(SendFailed, match="not now"):
            held.send(producer, Message(topic, "x"))
        server.drop(SEND)
        with pytest.raises(SendFailed) as lost:
            held.send(producer, Message(topic, "x"), timeout=0.5)
        assert isinstance(lost.value.__cause__, TimedOut) and server.messages(topic) == []
        server.drop_answer(SEND)
        with pytest.raises(SendFailed):
            held.send(producer, Message(topic, "stored all the same"), timeout=0.5)
        server.wait_for_messages(topic, 1)
        late = server.delay(SEND, seconds=0.4)
        began = held.loop.net.seconds()
        held.send(producer, Message(topic, "late"))
        assert held.loop.net.seconds() - began >= 0.4 and late.hits == 1
        server.cut(SEND, topic=topic)
        with pytest.raises(SendFailed) as cut:
            held.send(producer, Message(topic, "x"))
        assert isinstance(cut.value.__cause__, Unreachable)
        held.send(producer, Message(topic, "again"))
        assert bodies(server.messages(topic)) == [b"stored all the same", b"late", b"again"]


def test_a_consumer_gets_over_pulls_that_fail() -> None:
    with hands() as held:
        topic, inbox = held.server.create_topic(queues=1), Inbox()
        fault = held.server.refuse(PULL, times=3, topic=topic)
        held.consumer(inbox, topic)
        held.send(held.producer(), Message(topic, "x"))
        held.wait_for(lambda: inbox.got)
        assert fault.hits == 3


def test_connections_break_and_are_refused() -> None:
    with hands() as held:
        topic, server = held.server.create_topic(), held.server
        producer = held.producer(retry_times_when_send_failed=0)
        held.send(producer, Message(topic, "a"))
        server.disconnect()
        held.loop.settle()
        held.send(producer, Message(topic, "b"))
        server.refuse_connections()
        held.loop.settle()
        with pytest.raises(SendFailed):
            held.send(producer, Message(topic, "x"))
        server.heal()
        held.send(producer, Message(topic, "c"))
        assert len(server.messages(topic)) == 3


def test_a_full_disk_takes_nothing() -> None:
    with hands() as held:
        topic, server = held.server.create_topic(), held.server
        producer = held.producer(retry_times_when_send_failed=0)
        server.fill_disk()
        with pytest.raises((BrokerError, SendFailed)):
            held.send(producer, Message(topic, "x"))
        server.free_disk()
        held.send(producer, Message(topic, "y"))
        assert bodies(server.messages(topic)) == [b"y"]


def test_settings_have_either_spelling() -> None:
    with hands(flush_disk_type="SYNC_FLUSH", autoCreateTopicEnable=False) as held:
        found = held.server.run(lambda: held.server.broker)
        assert found.store_options.flush_disk_type == "SYNC_FLUSH"
        assert found.options.auto_create_topic_enable is False
    with pytest.raises(ConfigError):
        Server(loop=HandLoop(), host=HOST, no_such_setting=1)


def test_it_is_started_once_and_stopped_once() -> None:
    held = Hands()
    with pytest.raises(ServerError, match="started once"):
        held.server.start()
    held.server.stop()
    held.server.stop()
    with pytest.raises(ServerError, match="started once"):
        held.server.start()
