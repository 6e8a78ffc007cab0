"""Requests to brokers about messages and their positions.

Offsets are queue offsets unless they are called physical. RocketMQ: `MQAdminImpl`, `DefaultMQAdminExtImpl`.
"""

from __future__ import annotations

from mqgateway.engine.names import is_lmq
from mqgateway.gateway.client.admin_question import Question, asks, body_of, field_of, nothing
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.reading import read_messages
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import BoundaryType
from mqgateway.gateway.codec.headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumeQueueRequestHeader,
    QueryMessageRequestHeader,
    ResumeCheckHalfMessageRequestHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    ViewMessageRequestHeader,
)

FOREVER = 2**63 - 1
KEY, UNIQUE_KEY, TAG = "K", "U", "T"
"""Index types: properties that messages can be queried by."""


@asks(RequestCode.QUERY_MESSAGE)
def by_key(
    topic: str,
    key: str,
    *,
    most: int = 64,
    begin: int = 0,
    end: int = FOREVER,
    kind: str = KEY,
    after: str | None = None,
) -> Question[list[ReceivedMessage]]:
    """Query messages of a topic by key, stored between two times (ms since the epoch); at most `most`.

    `after` is the position from which a broker with an index in a database continues.
    """

    def read(answer: RemotingCommand) -> list[ReceivedMessage]:
        # Apache's brokers query by hash, so the answer may contain other topics and keys.
        found = read_messages(answer.body, "")
        if kind == KEY:
            return [one for one in found if key in one.keys and (one.topic == topic or is_lmq(topic))]
        return [one for one in found if one.message_id == key] if kind == UNIQUE_KEY else found

    header = QueryMessageRequestHeader(
        topic=topic,
        key=key,
        max_num=most,
        begin_timestamp=begin,
        end_timestamp=end,
        index_type=kind,
        last_key=after,
    )
    none = (ResponseCode.QUERY_NOT_FOUND,)
    question = Question(RequestCode.QUERY_MESSAGE, read, header, nothing_codes=none)
    if kind == UNIQUE_KEY:
        # Brokers before 5.5 need this field.
        return Question(question.code, read, header, fields={"_UNIQUE_KEY_QUERY": "true"}, nothing_codes=none)
    return question


@asks(RequestCode.VIEW_MESSAGE_BY_ID)
def at(physical_offset: int, topic: str | None = None) -> Question[ReceivedMessage | None]:
    """Return the message at a physical offset; the broker refuses if there is none."""

    def read(answer: RemotingCommand) -> ReceivedMessage | None:
        return next(iter(read_messages(answer.body, "")), None)

    header = ViewMessageRequestHeader(topic=topic, offset=physical_offset)
    return Question(RequestCode.VIEW_MESSAGE_BY_ID, read, header)


@asks(RequestCode.QUERY_CONSUME_QUEUE)
def queue_entries(
    queue: bodies.MessageQueue, index: int, count: int, group: str | None = None
) -> Question[bodies.QueryConsumeQueueResponseBody | None]:
    """Return entries of a consume queue from an index; None if there are none.

    With a group, each entry has the match of the group's subscription.
    """

    def read(answer: RemotingCommand) -> bodies.QueryConsumeQueueResponseBody | None:
        return body_of(bodies.QueryConsumeQueueResponseBody)(answer) if answer.body else None

    header = QueryConsumeQueueRequestHeader(
        topic=queue.topic,
        queue_id=queue.queue_id,
        index=index,
        count=count,
        consumer_group=group,
        bname=queue.broker_name,
    )
    return Question(RequestCode.QUERY_CONSUME_QUEUE, read, header)


@asks(RequestCode.RESUME_CHECK_HALF_MESSAGE)
def ask_about_again(offset_message_id: str, topic: str | None = None) -> Question[None]:
    """Resume transaction checks of a half message that were given up."""
    header = ResumeCheckHalfMessageRequestHeader(topic=topic, msg_id=offset_message_id)
    return Question(RequestCode.RESUME_CHECK_HALF_MESSAGE, nothing, header)


@asks(RequestCode.GET_MAX_OFFSET)
def max_offset(queue: bodies.MessageQueue) -> Question[int]:
    """Return the maximum offset of a queue: that of its next message."""
    header = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
    return Question(RequestCode.GET_MAX_OFFSET, field_of(GetMaxOffsetResponseHeader, "offset"), header)


@asks(RequestCode.GET_MIN_OFFSET)
def min_offset(queue: bodies.MessageQueue) -> Question[int]:
    """Return the offset of the oldest message of a queue."""
    header = GetMinOffsetRequestHeader(topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name)
    return Question(RequestCode.GET_MIN_OFFSET, field_of(GetMinOffsetResponseHeader, "offset"), header)


@asks(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP)
def offset_at(queue: bodies.MessageQueue, timestamp: int, *, is_upper: bool = False) -> Question[int]:
    """Return the offset of the message stored at a time (ms since the epoch).

    Of several messages stored at that time it is the first, with `is_upper` the last.
    """
    header = SearchOffsetRequestHeader(
        topic=queue.topic,
        queue_id=queue.queue_id,
        timestamp=timestamp,
        boundary_type=BoundaryType.UPPER if is_upper else BoundaryType.LOWER,
        bname=queue.broker_name,
    )
    read = field_of(SearchOffsetResponseHeader, "offset")
    return Question(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, read, header)


@asks(RequestCode.GET_EARLIEST_MSG_STORETIME)
def earliest_store_time(queue: bodies.MessageQueue) -> Question[int]:
    """Return the store time of the oldest message of a queue, in ms since the epoch."""
    header = GetEarliestMsgStoretimeRequestHeader(
        topic=queue.topic, queue_id=queue.queue_id, bname=queue.broker_name
    )
    read = field_of(GetEarliestMsgStoretimeResponseHeader, "timestamp")
    return Question(RequestCode.GET_EARLIEST_MSG_STORETIME, read, header)
