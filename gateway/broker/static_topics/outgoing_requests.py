"""Requests to the brokers of other mapping items of a queue, about their own queues (`lo=false`).

All fail with `OperationError`, whose message names the broker that does not answer or refuses. RocketMQ:
`RpcClientImpl`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine import json_members, lenient_json
from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.store.results import GetStatus
from mqgateway.gateway.broker.cluster.broker_directory import BrokerDirectory
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullOutcomeStatus, PullRequest
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.refusals import CODES
from mqgateway.gateway.codec.bodies import MessageQueue, TopicOffset, TopicRouteData, TopicStatsTable
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.codec.fields import BoundaryType, Header
from mqgateway.gateway.codec.headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    GetRouteInfoRequestHeader,
    GetTopicConfigRequestHeader,
    GetTopicStatsInfoRequestHeader,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from mqgateway.gateway.codec.headers.pull import FLAG_COMMIT_OFFSET, FLAG_SUBSCRIPTION, FLAG_SUSPEND
from mqgateway.gateway.remoting.call import RequestError
from mqgateway.gateway.remoting.exchange import RemotingError

H = TypeVar("H", bound=Header)
T = TypeVar("T")

PULLED = {
    int(ResponseCode.SUCCESS): PullOutcomeStatus.FOUND,
    int(ResponseCode.PULL_NOT_FOUND): PullOutcomeStatus.NOT_FOUND,
    int(ResponseCode.PULL_RETRY_IMMEDIATELY): PullOutcomeStatus.RETRY_IMMEDIATELY,
    int(ResponseCode.PULL_OFFSET_MOVED): PullOutcomeStatus.OFFSET_MOVED,
}
"""Response codes of answers that contain the queue's offsets."""
REASONS = {code: reason for reason, code in CODES.items()}
GET_STATUSES = {status.name: status for status in GetStatus}
WAS_RESET = "Offset has been previously reset"


def pull(directory: BrokerDirectory, item: MappingItem, request: PullRequest) -> Deferred[PullOutcome]:
    """Pull records of a mapping item. The other broker neither waits nor commits an offset.

    It receives the client's fields, also those that it ignores without the removed flags.
    """
    given = _given(request)
    header = PullMessageRequestHeader(
        lo=False,
        bname=item.broker_name,
        consumer_group=request.group,
        topic=request.topic,
        lite_topic=request.lite_topic,
        queue_id=request.queue_id,
        queue_offset=request.offset,
        max_msg_nums=request.max_messages,
        sys_flag=given.sys_flag & ~FLAG_COMMIT_OFFSET & ~FLAG_SUSPEND,
        commit_offset=item.physical(given.commit_offset),
        suspend_timeout_millis=given.suspend_timeout_millis,
        subscription=request.expression,
        sub_version=request.subscription_version,
        expression_type=request.expression_type,
        max_msg_bytes=given.max_msg_bytes,
        request_source=given.request_source,
        proxy_froward_client_id=given.proxy_froward_client_id,
    )

    def read(answer: RemotingCommand) -> PullOutcome:
        status = PULLED.get(answer.code)
        if status is None:
            raise _refused(item, answer)
        fields = PullMessageResponseHeader.decode(answer.ext_fields)
        return PullOutcome(
            status,
            GET_STATUSES.get(answer.remark or ""),
            answer.body,
            fields.next_begin_offset,
            fields.min_offset,
            fields.max_offset,
            fields.suggest_which_broker_id,
            fields.topic_sys_flag or 0,
            fields.group_sys_flag or 0,
        )

    return _ask(directory, item, RequestCode.PULL_MESSAGE, header, read)


def _given(request: PullRequest) -> PullMessageRequestHeader:
    """Return the header that a client sent, or one for a client of another protocol."""
    if isinstance(request.header, PullMessageRequestHeader):
        return request.header
    return PullMessageRequestHeader(
        consumer_group=request.group,
        topic=request.topic,
        queue_id=request.queue_id,
        queue_offset=request.offset,
        max_msg_nums=request.max_messages,
        sys_flag=0 if request.is_subscribed else FLAG_SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=request.max_wait or 0,
    )


def max_offset(directory: BrokerDirectory, topic: str, item: MappingItem) -> Deferred[int]:
    """Return the end of the item's queue."""
    header = GetMaxOffsetRequestHeader(topic=topic, queue_id=item.queue_id, lo=False, bname=item.broker_name)
    read = _reader(item, GetMaxOffsetResponseHeader, lambda answer: answer.offset)
    return _ask(directory, item, RequestCode.GET_MAX_OFFSET, header, read)


def min_offset(directory: BrokerDirectory, topic: str, item: MappingItem) -> Deferred[int]:
    """Return the offset of the oldest message of the item's queue."""
    header = GetMinOffsetRequestHeader(topic=topic, queue_id=item.queue_id, lo=False, bname=item.broker_name)
    read = _reader(item, GetMinOffsetResponseHeader, lambda answer: answer.offset)
    return _ask(directory, item, RequestCode.GET_MIN_OFFSET, header, read)


def earliest_store_time(directory: BrokerDirectory, topic: str, item: MappingItem) -> Deferred[int]:
    """Return the store time (ms) of the oldest message of the item's queue."""
    header = GetEarliestMsgStoretimeRequestHeader(
        topic=topic, queue_id=item.queue_id, lo=False, bname=item.broker_name
    )
    read = _reader(item, GetEarliestMsgStoretimeResponseHeader, lambda answer: answer.timestamp)
    return _ask(directory, item, RequestCode.GET_EARLIEST_MSG_STORETIME, header, read)


def search_offset(
    directory: BrokerDirectory, topic: str, item: MappingItem, timestamp: int, is_upper: bool
) -> Deferred[int]:
    """Return the offset in the item's queue of a store time (ms)."""
    header = SearchOffsetRequestHeader(
        topic=topic,
        queue_id=item.queue_id,
        timestamp=timestamp,
        boundary_type=BoundaryType.UPPER if is_upper else BoundaryType.LOWER,
        lo=False,
        bname=item.broker_name,
    )
    read = _reader(item, SearchOffsetResponseHeader, lambda answer: answer.offset)
    return _ask(directory, item, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header, read)


def query_offset(directory: BrokerDirectory, group: str, topic: str, item: MappingItem) -> Deferred[int]:
    """Return a group's offset of the item's queue; fails with QUERY_NOT_FOUND if nothing was committed."""
    header = QueryConsumerOffsetRequestHeader(
        consumer_group=group,
        topic=topic,
        queue_id=item.queue_id,
        set_zero_if_not_found=False,
        lo=False,
        bname=item.broker_name,
    )

    def read(answer: RemotingCommand) -> int:
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            raise OperationError(Reason.QUERY_NOT_FOUND, answer.remark or "")
        return read_success(answer)

    read_success = _reader(item, QueryConsumerOffsetResponseHeader, lambda answer: answer.offset)
    return _ask(directory, item, RequestCode.QUERY_CONSUMER_OFFSET, header, read)


def update_offset(
    directory: BrokerDirectory, group: str, topic: str, item: MappingItem, offset: int
) -> Deferred[bool]:
    """Commit an offset of the item's queue; return False if a reset waits for the group's next pull."""
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group,
        topic=topic,
        queue_id=item.queue_id,
        commit_offset=offset,
        lo=False,
        bname=item.broker_name,
    )

    def read(answer: RemotingCommand) -> bool:
        if answer.code != ResponseCode.SUCCESS:
            raise OperationError(REASONS.get(answer.code, Reason.SYSTEM_ERROR), answer.remark or "")
        return answer.remark != WAS_RESET

    return _ask(directory, item, RequestCode.UPDATE_CONSUMER_OFFSET, header, read)


def queue_ends(
    directory: BrokerDirectory, topic: str, name: str
) -> Deferred[dict[MessageQueue, TopicOffset]]:
    """Return both ends of each queue that a broker has of a topic."""
    header = GetTopicStatsInfoRequestHeader(topic=topic, lo=False, bname=name)
    reply = directory.ask(name, RemotingCommand.request(RequestCode.GET_TOPIC_STATS_INFO, header))
    return _read_body(reply, lambda body: TopicStatsTable.decode(body).offset_table)


def mapping_of(directory: BrokerDirectory, topic: str, name: str) -> Deferred[TopicQueueMappingDetail]:
    """Return a broker's mapping of a topic."""
    header = GetTopicConfigRequestHeader(topic=topic, lo=True, bname=name)
    reply = directory.ask(name, RemotingCommand.request(RequestCode.GET_TOPIC_CONFIG, header))

    def read(body: bytes) -> TopicQueueMappingDetail:
        return TopicQueueMappingDetail.from_json((lenient_json.loads(body) or {}).get("mappingDetail") or {})

    return _read_body(reply, read)


def leaders(directory: BrokerDirectory, topic: str) -> Deferred[dict[int, str]]:
    """Return the brokers that lead the queues of a topic, as the name servers have them."""
    header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
    command = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)

    def read(body: bytes) -> dict[int, str]:
        infos = TopicRouteData.decode(body).topic_queue_mapping_by_broker or {}
        found: dict[int, tuple[int, str]] = {}
        for info in infos.values():
            says = (
                json_members.read(info, "epoch", 0, json_members.LONG_BITS),
                json_members.read_name(info, "bname"),
            )
            for number in map(int, json_members.read(info, "currIdMap", dict[str, Any]())):
                found[number] = max(found.get(number, says), says)
        return {number: name for number, (_, name) in found.items()}

    return _read_body(directory.name_servers.ask(command), read)


def _read_body(reply: Deferred[RemotingCommand], read: Callable[[bytes], T]) -> Deferred[T]:
    def body(answer: RemotingCommand) -> bytes:
        if answer.code != ResponseCode.SUCCESS:
            raise OperationError(Reason.SYSTEM_ERROR, f"it is answered {answer.code}, {answer.remark}")
        return answer.body

    return reply.addCallback(body).addCallback(read).addErrback(_explained)


def _reader(item: MappingItem, kind: type[H], value: Callable[[H], T]) -> Callable[[RemotingCommand], T]:
    """Return a function that reads one value of an answer."""

    def read(answer: RemotingCommand) -> T:
        if answer.code != ResponseCode.SUCCESS:
            raise _refused(item, answer)
        return value(kind.decode(answer.ext_fields))

    return read


def _ask(
    directory: BrokerDirectory,
    item: MappingItem,
    code: RequestCode,
    header: Header,
    read: Callable[[RemotingCommand], T],
) -> Deferred[T]:
    reply = directory.ask(item.broker_name, RemotingCommand.request(code, header))
    return reply.addCallback(read).addErrback(_explained)


def _explained(failure: Failure) -> NoReturn:
    error = failure.value
    if isinstance(error, RequestError | RemotingError | HeaderError):
        raise OperationError(Reason.SYSTEM_ERROR, str(error))
    assert error is not None
    raise error


def _refused(item: MappingItem, answer: RemotingCommand) -> OperationError:
    """Return the error for a refusal by the broker of an item."""
    why = f"broker {item.broker_name} answers {answer.code}, {answer.remark}"
    return OperationError(Reason.SYSTEM_ERROR, why)
