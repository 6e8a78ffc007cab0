"""Requests of brokers to clients, sent by a scripted broker."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.message import Message as Stored
from mqgateway.engine.message import format_properties, pack_host
from mqgateway.engine.store.record import encode, record_size, topic_field
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.served import REQUESTS
from mqgateway.gateway.codec.bodies import (
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
    GetConsumerStatusBody,
    MessageQueue,
    ResetOffsetBody,
)
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import (
    CheckTransactionStateRequestHeader,
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    NotifyConsumerIdsChangedRequestHeader,
    ResetOffsetRequestHeader,
)
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.gateway.client.test_requests import header as reply_header
from tests.support.gateway.client.cluster import Cluster, queue_of
from tests.support.gateway.remoting.pair import StillPeer

QUEUE = queue_of("T")
HOST = pack_host("10.0.0.1", 10911)


def record(**properties: str) -> bytes:
    message = Stored("T", 0, b"body", {}, 5, HOST, HOST)
    text = format_properties(properties).encode()
    topic = topic_field("T", False)
    size = record_size(0, 4, len(topic[1]), len(text))
    return encode(message, b"body", text, topic, size, 0, 0, 0, 4096, 6)


class Member:
    """Stands for a producer and a consumer of the group G, and keeps what it is asked."""

    group = "G"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def topics(self) -> list[str]:
        return []

    def check_transaction(self, address: str, message: ReceivedMessage, header: object) -> None:
        self.asked.append((address, message.body))

    async def rebalance(self) -> bool:
        self.asked.append("rebalance")
        return True

    async def commit_offsets(self) -> None:
        self.asked.append("commit")

    async def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> None:
        self.asked.append((topic, offsets))

    def consumed(self, topic: str | None) -> dict[MessageQueue, int]:
        return {QUEUE: 7}

    async def running_info(self) -> ConsumerRunningInfo:
        return ConsumerRunningInfo(properties={"a": "b"})

    async def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> ConsumeMessageDirectlyResult:
        return ConsumeMessageDirectlyResult(consume_result="CR_SUCCESS", remark=message.body.decode())


class Scene:
    """A client with one member, and a broker that speaks to it on the client's own dispatcher."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client: Any = cluster.client()
        self.member = Member()
        self.client.consumers["G"] = self.client.producers["G"] = self.member

    def ask(self, code: int, header: Header, body: bytes = b"") -> RemotingCommand | None:
        dispatcher = Dispatcher(self.client, REQUESTS, {}, clock=self.cluster.clock)
        frame = dispatcher.dispatch(RemotingCommand.request(code, header, body), StillPeer("10.0.0.1:10911"))
        if frame is not None and not isinstance(frame, bytes):
            frame = self.cluster.run(frame)
        self.client.producers.clear()
        return None if frame is None else decode_command(frame[4:])


def test_39_checks_transaction_with_producer_of_the_group() -> None:
    with Cluster() as cluster:
        scene = Scene(cluster)
        header = CheckTransactionStateRequestHeader(tran_state_table_offset=1, commit_log_offset=2)
        asked = RequestCode.CHECK_TRANSACTION_STATE
        assert scene.ask(asked, header, record(PGROUP="G")) is None
        assert scene.member.asked == [("10.0.0.1:10911", b"body")]
        assert scene.ask(asked, header, record(PGROUP="Other")) is None
        assert len(scene.member.asked) == 1
        scene.client.consumers.clear()


def test_40_rebalances_at_most_once_a_second() -> None:
    with Cluster() as cluster:
        scene = Scene(cluster)
        header = NotifyConsumerIdsChangedRequestHeader(consumer_group="G")
        for _ in range(5):
            scene.ask(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header)
        cluster.settle()
        assert scene.member.asked == ["rebalance"]
        scene.ask(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header)
        cluster.settle(2.0)
        assert scene.member.asked == ["rebalance"] * 2
        cluster.settle(20.0)
        assert scene.member.asked.count("rebalance") == 3
        scene.client.consumers.clear()


def test_220_resets_offsets() -> None:
    with Cluster() as cluster:
        scene = Scene(cluster)
        body = ResetOffsetBody({QUEUE: 3}).encode()
        for group in ("G", "Other"):
            header = ResetOffsetRequestHeader(group=group, topic="T", timestamp=5, is_force=True)
            assert scene.ask(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body) is None
        assert scene.member.asked == [("T", {QUEUE: 3})]
        scene.client.consumers.clear()


def test_221_returns_offsets() -> None:
    with Cluster() as cluster:
        scene = Scene(cluster)
        tables = []
        for group in ("G", "Other"):
            header = GetConsumerStatusRequestHeader(topic="T", group=group)
            answer = scene.ask(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header)
            assert answer is not None
            tables.append(GetConsumerStatusBody.decode(answer.body).message_queue_table)
        assert tables == [{QUEUE: 7}, {}]
        scene.client.consumers.clear()


def test_307_returns_running_info_with_stacks_on_request() -> None:
    with Cluster() as cluster:
        scene = Scene(cluster)
        code = RequestCode.GET_CONSUMER_RUNNING_INFO
        header = GetConsumerRunningInfoRequestHeader(consumer_group="G", client_id="c", jstack_enable=True)
        answer = scene.ask(code, header)
        assert answer is not None
        info = ConsumerRunningInfo.decode(answer.body)
        assert info.properties == {"a": "b"} and "TID" in (info.jstack or "")
        answer = scene.ask(code, GetConsumerRunningInfoRequestHeader(consumer_group="X", client_id="c"))
        assert answer is not None
        assert (answer.code, answer.remark) == (
            ResponseCode.SYSTEM_ERROR,
            "The Consumer Group <X> not exist in this consumer",
        )
        scene.client.consumers.clear()


def test_309_consumes_one_message_now() -> None:
    with Cluster() as cluster:
        scene = Scene(cluster)
        code = RequestCode.CONSUME_MESSAGE_DIRECTLY
        header = ConsumeMessageDirectlyResultRequestHeader(consumer_group="G", broker_name="broker-a")
        answer = scene.ask(code, header, record())
        assert answer is not None
        assert ConsumeMessageDirectlyResult.decode(answer.body).remark == "body"
        answer = scene.ask(code, header, b"no record")
        assert answer is not None and answer.code == ResponseCode.SYSTEM_ERROR
        answer = scene.ask(code, ConsumeMessageDirectlyResultRequestHeader(consumer_group="X"), record())
        assert answer is not None and "not exist" in (answer.remark or "")
        scene.client.consumers.clear()


def test_326_brings_a_reply() -> None:
    with Cluster() as cluster:
        scene = Scene(cluster)
        code = RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT
        answer = scene.ask(code, reply_header("late"), b"x")
        assert answer is not None and answer.code == ResponseCode.SUCCESS
        answer = scene.ask(code, reply_header("late", host="nonsense"), b"x")
        assert answer is not None
        assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "process reply message fail")
        scene.client.consumers.clear()
