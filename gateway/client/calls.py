"""What brokers are asked, one typed call each; the client's own names for the standard's requests.

Every call knows which broker to ask: the one that has the queue, else somebody who has the topic. Offsets
count messages of a queue. All of them raise `Unreachable`, `TimedOut`, `BrokerError` and `NoBroker`.
Standard: `MQClientAPIImpl`, `MQAdminImpl`.
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
    """Where brokers are; a route that is missing is looked up."""

    async def place_of(
        self, queue: MessageQueue, broker_id: int = MASTER, only_this: bool = False
    ) -> Endpoint:
        """The broker to ask about a queue. Raises `NoBroker`."""
        ...

    async def somebody(self, topic: str) -> str:
        """A broker of a topic. Raises `NoBroker`."""
        ...


class Calls:
    """The calls of one client."""

    def __init__(self, asking: Asking, directory: Directory, client_id: str) -> None:
        self._asking = asking
        self._directory = directory
        self._client_id = client_id

    # Clients and groups

    async def heartbeat(self, address: str, data: HeartbeatData) -> int:
        """Say that we are alive and what we want; the broker's version."""
        return (await self._asking.expect(address, RequestCode.HEART_BEAT, None, data.encode())).version

    async def unregister(self, address: str, producer_group: str | None, consumer_group: str | None) -> None:
        """Leave a group."""
        header = UnregisterClientRequestHeader(
            client_id=self._client_id, producer_group=producer_group, consumer_group=consumer_group
        )
        await self._asking.expect(address, RequestCode.UNREGISTER_CLIENT, header)

    async def members(self, topic: str, group: str) -> list[str]:
        """The client ids of a consumer group."""
        address = await self._directory.somebody(topic)
        header = GetConsumerListByGroupRequestHeader(consumer_group=group)
        answer = await self._asking.expect(address, RequestCode.GET_CONSUMER_LIST_BY_GROUP, header, vip=True)
        return decode_body(GetConsumerListByGroupResponseBody, answer).consumer_id_list if answer.body else []

    async def check_subscription(self, topic: str, group: str, wanted: SubscriptionData) -> None:
        """Let a broker read an expression; it refuses what it cannot."""
        address = await self._directory.somebody(topic)
        body = CheckClientRequestBody(client_id=self._client_id, group=group, subscription_data=wanted)
        await self._asking.expect(address, RequestCode.CHECK_CLIENT_CONFIG, None, body.encode(), vip=True)

    async def assignments(
        self, topic: str, group: str, strategy: str, model: str
    ) -> list[MessageQueueAssignment] | None:
        """The queues that the broker gives us, and whether to pull or pop them; None: it cannot tell now."""
        address = await self._directory.somebody(topic)
        body = QueryAssignmentRequestBody(topic, group, self._client_id, strategy, model)
        answer = await self._asking.expect(
            address, RequestCode.QUERY_ASSIGNMENT, None, body.encode(), vip=True
        )
        return decode_body(QueryAssignmentResponseBody, answer).message_queue_assignments

    # Locks of ordered queues

    async def lock(self, address: str, group: str, queues: Iterable[MessageQueue]) -> set[MessageQueue]:
        """Ask for queues of one broker; those that are ours now."""
        body = LockBatchRequestBody(group, self._client_id, set(queues))
        answer = await self._asking.expect(
            address, RequestCode.LOCK_BATCH_MQ, None, body.encode(), timeout=LOCK_SECONDS, vip=True
        )
        return decode_body(LockBatchResponseBody, answer).lock_ok_mq_set

    def unlock(self, address: str, group: str, queues: Iterable[MessageQueue]) -> None:
        """Give queues of one broker back."""
        body = UnlockBatchRequestBody(group, self._client_id, set(queues))
        self._asking.tell(address, RequestCode.UNLOCK_BATCH_MQ, None, body.encode(), vip=True)

    # Offsets

    async def consumed_offset(self, group: str, queue: MessageQueue) -> int:
        """How far a group has consumed a queue; -1 when it never has."""
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
        """A group has consumed a queue up to here; with `wait` the broker's answer is waited for."""
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
            self._asking.tell(place.address, code, header, vip=True)

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of a queue will have."""
        header = GetMaxOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
        )
        place = await self._directory.place_of(queue)
        answer = await self._asking.expect(place.address, RequestCode.GET_MAX_OFFSET, header, vip=True)
        return decode_header(GetMaxOffsetResponseHeader, answer).offset

    async def min_offset(self, queue: MessageQueue) -> int:
        """The offset of the oldest message of a queue."""
        header = GetMinOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
        )
        place = await self._directory.place_of(queue)
        answer = await self._asking.expect(place.address, RequestCode.GET_MIN_OFFSET, header, vip=True)
        return decode_header(GetMinOffsetResponseHeader, answer).offset

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at a time (ms since the epoch) or later."""
        header = SearchOffsetRequestHeader(
            topic=queue.topic, queue_id=queue.queue_id, timestamp=timestamp, bname=queue.broker_name
        )
        place = await self._directory.place_of(queue)
        answer = await self._asking.expect(
            place.address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header, vip=True
        )
        return decode_header(SearchOffsetResponseHeader, answer).offset

    async def earliest_store_time(self, queue: MessageQueue) -> int:
        """When the oldest message of a queue was stored, in ms since the epoch."""
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
        """A message could not be consumed and is to come again: after `delay_level`, 0 for one that grows
        with the number of times; below 0 it goes to the dead letters at once."""
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
        """The message that lies where its id says. Raises `BadArgument` for an id that is none."""
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
