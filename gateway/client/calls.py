"""Typed requests to brokers, under the client's own names.

Each call chooses its broker: the one that has the queue, else any broker of the topic. Offsets are queue
offsets. All calls raise `Unreachable`, `TimedOut`, `BrokerError` and `NoBroker`.
RocketMQ: `MQClientAPIImpl`, `MQAdminImpl`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.gateway.client.answers import decode_body, decode_header
from mqgateway.gateway.client.asking import Asking
from mqgateway.gateway.client.errors import BadArgument, BrokerError, NoBroker
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.reading import read_messages
from mqgateway.gateway.client.routes import MASTER, Endpoint
from mqgateway.gateway.codec.bodies import (
    CheckClientRequestBody,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SubscriptionData,
    UnlockBatchRequestBody,
)
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    ConsumerSendMsgBackRequestHeader,
    GetConsumerListByGroupRequestHeader,
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UnregisterClientRequestHeader,
    UpdateConsumerOffsetRequestHeader,
    ViewMessageRequestHeader,
)

OFFSET_SECONDS = 5.0
LOCK_SECONDS = 1.0
SEND_BACK_SECONDS = 5.0


class Directory(Protocol):
    """Broker lookup; fetches missing routes."""

    async def place_of(
        self, queue: MessageQueue, broker_id: int = MASTER, only_this: bool = False
    ) -> Endpoint:
        """Return the broker to query about a queue. Raises `NoBroker`."""
        ...

    async def any_broker(self, topic: str) -> str:
        """Return the address of any broker of a topic. Raises `NoBroker`."""
        ...


class Calls:
    """Broker calls of one client."""

    def __init__(self, asking: Asking, directory: Directory, client_id: str) -> None:
        self._asking = asking
        self._directory = directory
        self._client_id = client_id

    # Clients and groups

    async def heartbeat(self, address: str, data: HeartbeatData) -> int:
        """Send a heartbeat with the client's groups and subscriptions; return the broker's version."""
        return (await self._asking.expect(address, RequestCode.HEART_BEAT, None, data.encode())).version

    async def unregister(self, address: str, producer_group: str | None, consumer_group: str | None) -> None:
        """Leave a producer or consumer group."""
        header = UnregisterClientRequestHeader(
            client_id=self._client_id, producer_group=producer_group, consumer_group=consumer_group
        )
        await self._asking.expect(address, RequestCode.UNREGISTER_CLIENT, header)

    async def members(self, topic: str, group: str) -> list[str]:
        """Return the client ids of a consumer group."""
        address = await self._directory.any_broker(topic)
        header = GetConsumerListByGroupRequestHeader(consumer_group=group)
        answer = await self._asking.expect(address, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header, vip=True)
        return decode_body(GetConsumerListByGroupResponseBody, answer).consumer_id_list if answer.body else []

    async def check_subscription(self, topic: str, group: str, wanted: SubscriptionData) -> None:
        """Have a broker validate a subscription's filter expression; it refuses invalid ones."""
        address = await self._directory.any_broker(topic)
        body = CheckClientRequestBody(client_id=self._client_id, group=group, subscription_data=wanted)
        await self._asking.expect(address, RequestCode.CHECK_CLIENT_CONFIG, None, body.encode(), vip=True)

    async def assignments(
        self, topic: str, group: str, strategy: str, model: str
    ) -> list[MessageQueueAssignment] | None:
        """Return the queues that the broker assigns to this client, each with its mode, pull or pop.

        None if the broker cannot assign queues now.
        """
        address = await self._directory.any_broker(topic)
        body = QueryAssignmentRequestBody(topic, group, self._client_id, strategy, model)
        answer = await self._asking.expect(
            address, RequestCode.QUERY_ASSIGNMENT, None, body.encode(), vip=True
        )
        return decode_body(QueryAssignmentResponseBody, answer).message_queue_assignments

    # Locks of ordered queues

    async def lock(self, address: str, group: str, queues: Iterable[MessageQueue]) -> set[MessageQueue]:
        """Lock queues of one broker; return those that this client holds now."""
        body = LockBatchRequestBody(group, self._client_id, set(queues))
        answer = await self._asking.expect(
            address, RequestCode.LOCK_BATCH_MQ, None, body.encode(), timeout=LOCK_SECONDS, vip=True
        )
        return decode_body(LockBatchResponseBody, answer).lock_ok_mq_set

    def unlock(self, address: str, group: str, queues: Iterable[MessageQueue]) -> None:
        """Unlock queues of one broker."""
        body = UnlockBatchRequestBody(group, self._client_id, set(queues))
        self._asking.send_oneway(address, RequestCode.UNLOCK_BATCH_MQ, None, body.encode(), vip=True)

    # Offsets

    async def consumed_offset(self, group: str, queue: MessageQueue) -> int:
        """Return a group's committed offset of a queue; -1 if there is none."""
        place = await self._directory.place_of(queue)
        header = QueryConsumerOffsetRequestHeader(
            consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
        )
        answer = await self._asking.ask(
            place.address, RequestCode.QUERY_CONSUMER_OFFSET, header, timeout=OFFSET_SECONDS, vip=True
        )
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return -1
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, place.address)
        return decode_header(QueryConsumerOffsetResponseHeader, answer).offset

    async def commit_offset(
        self, group: str, queue: MessageQueue, offset: int, *, wait: bool = False
    ) -> None:
        """Commit a group's offset of a queue; with `wait`, wait for the broker's answer."""
        place = await self._directory.place_of(queue)
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
            bname=queue.broker_name,
        )
        code = RequestCode.UPDATE_CONSUMER_OFFSET
        if wait:
            await self._asking.expect(place.address, code, header, timeout=OFFSET_SECONDS, vip=True)
        else:
            self._asking.send_oneway(place.address, code, header, vip=True)

    async def max_offset(self, queue: MessageQueue) -> int:
        """Return the maximum offset of a queue: that of its next message."""
        header = GetMaxOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
        )
        place = await self._directory.place_of(queue)
        answer = await self._asking.expect(place.address, RequestCode.GET_MAX_OFFSET, header, vip=True)
        return decode_header(GetMaxOffsetResponseHeader, answer).offset

    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the offset of the oldest message of a queue."""
        header = GetMinOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
        )
        place = await self._directory.place_of(queue)
        answer = await self._asking.expect(place.address, RequestCode.GET_MIN_OFFSET, header, vip=True)
        return decode_header(GetMinOffsetResponseHeader, answer).offset

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """Return the offset of the first message stored at a time (ms since the epoch) or later."""
        header = SearchOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, timestamp=timestamp, bname=queue.broker_name
        )
        place = await self._directory.place_of(queue)
        answer = await self._asking.expect(
            place.address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header, vip=True
        )
        return decode_header(SearchOffsetResponseHeader, answer).offset

    async def earliest_store_time(self, queue: MessageQueue) -> int:
        """Return the store time of the oldest message of a queue, in ms since the epoch."""
        header = GetEarliestMsgStoretimeRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
        )
        place = await self._directory.place_of(queue)
        answer = await self._asking.expect(
            place.address, RequestCode.GET_EARLIEST_MSG_STORETIME, header, vip=True
        )
        return decode_header(GetEarliestMsgStoretimeResponseHeader, answer).timestamp

    # Messages

    async def send_back(
        self, group: str, message: ReceivedMessage, delay_level: int, max_times: int, unit_mode: bool = False
    ) -> None:
        """Return a message that could not be consumed to the broker, which redelivers it.

        It is redelivered after `delay_level`; 0 means a delay that grows with the number of deliveries. A
        negative level dead-letters the message at once.
        """
        place = await self._directory.place_of(message.queue, only_this=True)
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.physical_offset,
            group=group,
            delay_level=delay_level,
            origin_msg_id=message.message_id,
            origin_topic=message.queue.topic,
            unit_mode=unit_mode,
            max_reconsume_times=max_times,
            bname=message.queue.broker_name,
        )
        await self._asking.expect(
            place.address,
            RequestCode.CONSUMER_SEND_MSG_BACK,
            header,
            timeout=SEND_BACK_SECONDS,
            vip=True,
        )

    async def view(self, topic: str, offset_message_id: str) -> ReceivedMessage:
        """Return the message at the position encoded in its id. Raises `BadArgument` for an invalid id."""
        try:
            ip, port, offset = parse_offset_message_id(offset_message_id)
        except ValueError as error:
            raise BadArgument(f"{offset_message_id}: {error}") from None
        header = ViewMessageRequestHeader(topic=topic, offset=offset)
        address = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
        answer = await self._asking.expect(address, RequestCode.VIEW_MESSAGE_BY_ID, header, vip=True)
        found = read_messages(answer.body, "")
        if not found:
            raise NoBroker(f"{address} gave no message for {offset_message_id}")
        return found[0]
