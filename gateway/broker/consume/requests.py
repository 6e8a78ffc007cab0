"""Remoting requests of consumers for messages, offsets and queues.

11 PULL_MESSAGE, 361 LITE_PULL_MESSAGE, 14 QUERY_CONSUMER_OFFSET, 15 UPDATE_CONSUMER_OFFSET,
314 CLONE_GROUP_OFFSET, 43 GET_ALL_CONSUMER_OFFSET, 12 QUERY_MESSAGE, 33 VIEW_MESSAGE_BY_ID,
29 SEARCH_OFFSET_BY_TIMESTAMP, 30 GET_MAX_OFFSET, 31 GET_MIN_OFFSET, 32 GET_EARLIEST_MSG_STORETIME,
321 QUERY_CONSUME_QUEUE.

A request about a queue with `lo=false` is about a queue of this broker, whatever its topic is mapped to.
"""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine import lenient_json
from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.store.key_query import INDEX_KEY, INDEX_UNIQUE
from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations import (
    Operations,
    Permit,
    PullForbidden,
    PullOutcome,
    PullOutcomeStatus,
    PullRequest,
    Use,
)
from mqgateway.gateway.broker.refusals import CODES
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.bodies.consuming import QueryConsumeQueueResponseBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.fields import BoundaryType
from mqgateway.gateway.codec.headers import (
    CloneGroupOffsetRequestHeader,
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    PullMessageRequestHeader,
    QueryConsumeQueueRequestHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
    ViewMessageRequestHeader,
)
from mqgateway.gateway.codec.headers.pull import (
    FLAG_COMMIT_OFFSET,
    FLAG_SUBSCRIPTION,
    FLAG_SUSPEND,
    PROXY_FOR_BROADCAST,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.runtime.outcomes import then

UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"
"""The field by which a client older than 5.5 requests a message by its unique key."""
LITE_PULL: Final = int(RequestCode.LITE_PULL_MESSAGE)
FOUND: Final = PullOutcomeStatus.FOUND  # a look-up in an enumeration costs more than the rest of a check
PULL_CODES: Final = {
    PullOutcomeStatus.FOUND: int(ResponseCode.SUCCESS),
    PullOutcomeStatus.NOT_FOUND: int(ResponseCode.PULL_NOT_FOUND),
    PullOutcomeStatus.RETRY_IMMEDIATELY: int(ResponseCode.PULL_RETRY_IMMEDIATELY),
    PullOutcomeStatus.OFFSET_MOVED: int(ResponseCode.PULL_OFFSET_MOVED),
}


def pull_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """11 and 361."""
    header = call.header
    assert isinstance(header, PullMessageRequestHeader)
    flags = header.sys_flag
    request = PullRequest(
        header.consumer_group,
        header.topic,
        header.queue_id,
        header.queue_offset,
        header.max_msg_nums,
        header.suspend_timeout_millis if flags & FLAG_SUSPEND else None,
        header.subscription,
        header.expression_type,
        header.commit_offset if flags & FLAG_COMMIT_OFFSET else -1,
        not flags & FLAG_SUBSCRIPTION,
        header.sub_version,
        header.lite_topic,
        call.command.code == LITE_PULL,
        header.request_source == PROXY_FOR_BROADCAST,
        header.proxy_froward_client_id,
        header,
    )
    try:
        outcome = operations.consume.pull(permit, request, is_mapped=header.lo is not False)
    except PullForbidden as error:
        return forbidden(error)
    if isinstance(outcome, Deferred):
        return outcome.addCallback(pulled).addErrback(forbidden_later)
    return pulled(outcome)


def pulled(outcome: PullOutcome) -> Reply:
    """Return the reply with the outcome of a pull."""
    status, found = outcome.status, outcome.found
    ext = {
        "suggestWhichBrokerId": str(outcome.suggested_broker),
        "nextBeginOffset": str(outcome.next_offset),
        "minOffset": str(outcome.min_offset),
        "maxOffset": str(outcome.max_offset),
        "topicSysFlag": str(outcome.topic_sys_flag),
        "groupSysFlag": str(outcome.group_sys_flag),
    }
    if outcome.offset_delta is not None:
        ext["offsetDelta"] = str(outcome.offset_delta)
    code = 0 if status is FOUND else PULL_CODES[status]
    return Reply(code, None, outcome.body, None if found is None else found.name, ext)


def forbidden(error: PullForbidden) -> Reply:
    """Return the reply to a pull that is refused."""
    return Reply(CODES[error.reason], remark=error.message, ext={"forbiddenType": str(int(error.kind))})


def forbidden_later(failure: Failure) -> Reply:
    """Return the reply to a pull that is refused after it waited; other failures are raised."""
    error = failure.value
    if isinstance(error, PullForbidden):
        return forbidden(error)
    assert error is not None
    raise error


def query_offset(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """14."""
    header = call.header
    assert isinstance(header, QueryConsumerOffsetRequestHeader)
    offset = operations.offsets.committed(
        permit,
        header.consumer_group,
        header.topic,
        header.queue_id,
        is_zero_usual=header.set_zero_if_not_found is not False,
        is_mapped=header.lo is not False,
    )
    return then(offset, lambda found: Reply(header=QueryConsumerOffsetResponseHeader(offset=found)))


def update_offset(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """15."""
    header = call.header
    assert isinstance(header, UpdateConsumerOffsetRequestHeader)
    queue_id, offset = header.queue_id, header.commit_offset
    group, topic = header.consumer_group, header.topic
    if queue_id is None or offset is None:
        operations.offsets.check_names(permit, group, topic)
        missing = "QueueId" if queue_id is None else "Offset"
        raise OperationError(Reason.INVALID_PARAMETER, f"{missing} is null, topic is {topic}")
    is_mapped = header.lo is not False
    is_committed = operations.offsets.commit(permit, group, topic, queue_id, offset, is_mapped=is_mapped)
    return then(is_committed, _committed)


def _committed(is_committed: bool) -> Reply:
    return Reply(remark=None if is_committed else "Offset has been previously reset")


def search_offset(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """29."""
    header = call.header
    assert isinstance(header, SearchOffsetRequestHeader)
    topic, queue_id, is_mapped = header.topic, header.queue_id, header.lo is not False
    if header.lite_topic:
        topic, queue_id, is_mapped = lmq_name(topic, header.lite_topic), 0, False
    is_upper = header.boundary_type is BoundaryType.UPPER
    offset = operations.offsets.at_time(
        permit, topic, queue_id, header.timestamp, is_upper=is_upper, is_mapped=is_mapped
    )
    return then(offset, lambda found: Reply(header=SearchOffsetResponseHeader(offset=found)))


def max_offset(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """30."""
    header = call.header
    assert isinstance(header, GetMaxOffsetRequestHeader)
    is_mapped = header.lo is not False
    offset = operations.offsets.end(permit, header.topic, header.queue_id, is_mapped=is_mapped)
    return then(offset, lambda found: Reply(header=GetMaxOffsetResponseHeader(offset=found)))


def min_offset(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """31."""
    header = call.header
    assert isinstance(header, GetMinOffsetRequestHeader)
    is_mapped = header.lo is not False
    offset = operations.offsets.earliest(permit, header.topic, header.queue_id, is_mapped=is_mapped)
    return then(offset, lambda found: Reply(header=GetMinOffsetResponseHeader(offset=found)))


def earliest_store_time(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """32."""
    header = call.header
    assert isinstance(header, GetEarliestMsgStoretimeRequestHeader)
    is_mapped = header.lo is not False
    time = operations.offsets.earliest_store_time(permit, header.topic, header.queue_id, is_mapped=is_mapped)
    return then(time, lambda ms: Reply(header=GetEarliestMsgStoretimeResponseHeader(timestamp=ms)))


def clone_offset(operations: Operations, permit: Permit, call: Call) -> Reply:
    """314."""
    header = call.header
    assert isinstance(header, CloneGroupOffsetRequestHeader)
    operations.offsets.clone(
        permit, header.src_group, header.dest_group, header.topic, is_offline=bool(header.offline)
    )
    return Reply()


def all_offsets(operations: Operations, permit: Permit, call: Call) -> Reply:
    """43."""
    return Reply(body=lenient_json.dumps(operations.offsets.all(permit)))


def query_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """12."""
    header = call.header
    assert isinstance(header, QueryMessageRequestHeader)
    is_old = call.command.ext_fields.get(UNIQUE_KEY_QUERY) == "true"
    found = operations.queries.by_key(
        permit,
        header.topic,
        header.key,
        None if is_old else header.max_num,
        begin=header.begin_timestamp,
        end=header.end_timestamp,
        index_type=INDEX_UNIQUE if is_old else header.index_type or INDEX_KEY,
    )
    return then(found, _queried)


def _queried(found: QueryResult) -> Reply:
    fields = QueryMessageResponseHeader(
        index_last_update_timestamp=found.last_update_timestamp,
        index_last_update_phyoffset=found.last_update_offset,
    )
    if found.records:
        return Reply(header=fields, body=b"".join(found.records))
    return Reply(
        ResponseCode.QUERY_NOT_FOUND, fields, remark="can not find message, maybe time range not correct"
    )


def view_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """33."""
    header = call.header
    assert isinstance(header, ViewMessageRequestHeader)
    record = operations.queries.by_position(permit, header.offset, call.may_use)
    return then(record, lambda found: Reply(body=found))


def query_consume_queue(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """321."""
    header = call.header
    assert isinstance(header, QueryConsumeQueueRequestHeader)
    topic, queue_id, index = header.topic or "", header.queue_id, header.index

    def reply(body: QueryConsumeQueueResponseBody | None) -> Reply:
        if body is None:
            return Reply(remark=f"Index {index} of {queue_id}@{topic} is not exist!")
        return Reply(body=body.encode())

    found = operations.queries.consume_queue(
        permit, topic, queue_id, index, header.count, header.consumer_group
    )
    return then(found, reply)


REQUESTS: Final[dict[int, Translated]] = {
    RequestCode.PULL_MESSAGE: Translated(pull_message, Use.PULL),
    RequestCode.LITE_PULL_MESSAGE: Translated(pull_message, Use.PULL),
    RequestCode.QUERY_CONSUMER_OFFSET: Translated(query_offset, Use.QUERY),
    RequestCode.UPDATE_CONSUMER_OFFSET: Translated(update_offset, Use.COMMIT_OFFSET),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: Translated(search_offset, Use.QUERY),
    RequestCode.GET_MAX_OFFSET: Translated(max_offset, Use.QUERY),
    RequestCode.GET_MIN_OFFSET: Translated(min_offset, Use.QUERY),
    RequestCode.GET_EARLIEST_MSG_STORETIME: Translated(earliest_store_time, Use.QUERY),
    RequestCode.CLONE_GROUP_OFFSET: Translated(clone_offset, Use.COMMIT_OFFSET),
    RequestCode.GET_ALL_CONSUMER_OFFSET: Translated(all_offsets, Use.QUERY),
    RequestCode.QUERY_MESSAGE: Translated(query_message, Use.QUERY),
    RequestCode.VIEW_MESSAGE_BY_ID: Translated(view_message, Use.QUERY),
    RequestCode.QUERY_CONSUME_QUEUE: Translated(query_consume_queue, Use.QUERY),
}
"""The requests by code."""
