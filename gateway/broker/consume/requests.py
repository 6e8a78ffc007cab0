"""Remoting requests of consumers for messages, offsets and queues.

11 PULL_MESSAGE, 361 LITE_PULL_MESSAGE, 14 QUERY_CONSUMER_OFFSET, 15 UPDATE_CONSUMER_OFFSET,
314 CLONE_GROUP_OFFSET, 43 GET_ALL_CONSUMER_OFFSET, 12 QUERY_MESSAGE, 33 VIEW_MESSAGE_BY_ID,
29 SEARCH_OFFSET_BY_TIMESTAMP, 30 GET_MAX_OFFSET, 31 GET_MIN_OFFSET, 32 GET_EARLIEST_MSG_STORETIME,
321 QUERY_CONSUME_QUEUE.
"""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine import lenient_json
from mqgateway.engine.lite.names import light_queue
from mqgateway.engine.store.key_query import INDEX_KEY, INDEX_UNIQUE
from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume import offsets, query
from mqgateway.gateway.broker.consume.operations import OF_THIS_BROKER, QueueOperations
from mqgateway.gateway.broker.consume.pull_request import PullForbidden, PullOutcome, PullStatus
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.broker.outcomes import then
from mqgateway.gateway.broker.refusals import CODES
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
from mqgateway.gateway.remoting.call import Call, Reply

UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"
"""The field by which a client older than 5.5 says that it asks for a unique key."""
LITE_PULL: Final = int(RequestCode.LITE_PULL_MESSAGE)
FOUND: Final = PullStatus.FOUND  # a look-up in an enumeration costs more than the rest of a check
PULL_CODES: Final = {
    PullStatus.FOUND: int(ResponseCode.SUCCESS),
    PullStatus.NOT_FOUND: int(ResponseCode.PULL_NOT_FOUND),
    PullStatus.RETRY_IMMEDIATELY: int(ResponseCode.PULL_RETRY_IMMEDIATELY),
    PullStatus.OFFSET_MOVED: int(ResponseCode.PULL_OFFSET_MOVED),
}


class QueueRequests:
    """The requests about one queue. One that says `lo=false` is about a queue as it lies on this broker; any
    other is served by `operations`.
    """

    def __init__(self, operations: QueueOperations) -> None:
        self._operations = operations
        self._pull = operations.pull
        self.table: dict[int, Request] = {
            RequestCode.PULL_MESSAGE: Request(self.pull_message, Needs.NO_TRACE),
            RequestCode.LITE_PULL_MESSAGE: Request(self.pull_message, Needs.NO_TRACE),
            RequestCode.QUERY_CONSUMER_OFFSET: Request(self.query_offset, Needs.NOTHING),
            RequestCode.UPDATE_CONSUMER_OFFSET: Request(self.update_offset, Needs.NOT_FENCED),
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: Request(self.search_offset, Needs.NOTHING),
            RequestCode.GET_MAX_OFFSET: Request(self.max_offset, Needs.NOTHING),
            RequestCode.GET_MIN_OFFSET: Request(self.min_offset, Needs.NOTHING),
            RequestCode.GET_EARLIEST_MSG_STORETIME: Request(self.earliest_store_time, Needs.NOTHING),
        }

    def _of(self, lo: bool | None) -> QueueOperations:
        return OF_THIS_BROKER if lo is False else self._operations

    def pull_message(self, broker: Broker, call: Call) -> Reply | Deferred[Reply]:
        """11 and 361."""
        header = call.header
        assert isinstance(header, PullMessageRequestHeader)
        pull = self._pull if header.lo is not False else OF_THIS_BROKER.pull
        try:
            outcome = pull(broker, header, call.peer, is_lite=call.command.code == LITE_PULL)
        except PullForbidden as error:
            return _forbidden(error)
        if isinstance(outcome, Deferred):
            return outcome.addCallback(_pulled).addErrback(_forbidden_later)
        return _pulled(outcome)

    def query_offset(self, broker: Broker, call: Call) -> Reply | Deferred[Reply]:
        """14."""
        header = call.header
        assert isinstance(header, QueryConsumerOffsetRequestHeader)
        offset = self._of(header.lo).query_offset(
            broker,
            header.consumer_group,
            header.topic,
            header.queue_id,
            set_zero_if_not_found=header.set_zero_if_not_found is not False,
        )
        return then(offset, lambda found: Reply(header=QueryConsumerOffsetResponseHeader(offset=found)))

    def update_offset(self, broker: Broker, call: Call) -> Reply | Deferred[Reply]:
        """15."""
        header = call.header
        assert isinstance(header, UpdateConsumerOffsetRequestHeader)
        queue_id, offset = header.queue_id, header.commit_offset
        if queue_id is None or offset is None:
            offsets.check_names(broker, header.consumer_group, header.topic)
            missing = "QueueId" if queue_id is None else "Offset"
            raise OperationError(Reason.INVALID_PARAMETER, f"{missing} is null, topic is {header.topic}")
        is_committed = self._of(header.lo).update_offset(
            broker, header.consumer_group, header.topic, queue_id, offset
        )
        return then(is_committed, _committed)

    def search_offset(self, broker: Broker, call: Call) -> Reply | Deferred[Reply]:
        """29."""
        header = call.header
        assert isinstance(header, SearchOffsetRequestHeader)
        topic, queue_id, operations = header.topic, header.queue_id, self._of(header.lo)
        if header.lite_topic:
            topic, queue_id, operations = light_queue(topic, header.lite_topic), 0, OF_THIS_BROKER
        is_upper = header.boundary_type is BoundaryType.UPPER
        offset = operations.search_offset(broker, topic, queue_id, header.timestamp, is_upper=is_upper)
        return then(offset, lambda found: Reply(header=SearchOffsetResponseHeader(offset=found)))

    def max_offset(self, broker: Broker, call: Call) -> Reply | Deferred[Reply]:
        """30."""
        header = call.header
        assert isinstance(header, GetMaxOffsetRequestHeader)
        offset = self._of(header.lo).max_offset(broker, header.topic, header.queue_id)
        return then(offset, lambda found: Reply(header=GetMaxOffsetResponseHeader(offset=found)))

    def min_offset(self, broker: Broker, call: Call) -> Reply | Deferred[Reply]:
        """31."""
        header = call.header
        assert isinstance(header, GetMinOffsetRequestHeader)
        offset = self._of(header.lo).min_offset(broker, header.topic, header.queue_id)
        return then(offset, lambda found: Reply(header=GetMinOffsetResponseHeader(offset=found)))

    def earliest_store_time(self, broker: Broker, call: Call) -> Reply | Deferred[Reply]:
        """32."""
        header = call.header
        assert isinstance(header, GetEarliestMsgStoretimeRequestHeader)
        time = self._of(header.lo).earliest_store_time(broker, header.topic, header.queue_id)
        return then(time, lambda ms: Reply(header=GetEarliestMsgStoretimeResponseHeader(timestamp=ms)))


def _pulled(outcome: PullOutcome) -> Reply:
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


def _forbidden(error: PullForbidden) -> Reply:
    return Reply(CODES[error.reason], remark=error.message, ext={"forbiddenType": str(int(error.kind))})


def _forbidden_later(failure: Failure) -> Reply:
    error = failure.value
    if isinstance(error, PullForbidden):
        return _forbidden(error)
    assert error is not None
    raise error


def _committed(is_committed: bool) -> Reply:
    return Reply(remark=None if is_committed else "Offset has been previously reset")


def clone_offset(broker: Broker, call: Call) -> Reply:
    """314."""
    header = call.header
    assert isinstance(header, CloneGroupOffsetRequestHeader)
    offsets.clone_offset(
        broker, header.src_group, header.dest_group, header.topic, is_offline=bool(header.offline)
    )
    return Reply()


def all_offsets(broker: Broker, call: Call) -> Reply:
    """43."""
    return Reply(body=lenient_json.dumps(offsets.all_offsets(broker)))


def query_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """12."""
    header = call.header
    assert isinstance(header, QueryMessageRequestHeader)
    is_old = call.command.ext_fields.get(UNIQUE_KEY_QUERY) == "true"
    found = query.query_message(
        broker,
        header.topic,
        header.key,
        header.begin_timestamp,
        header.end_timestamp,
        None if is_old else header.max_num,
        INDEX_UNIQUE if is_old else header.index_type or INDEX_KEY,
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


def view_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """33."""
    header = call.header
    assert isinstance(header, ViewMessageRequestHeader)
    record = query.view_message(broker, header.offset, call.may_use)
    return then(record, lambda found: Reply(body=found))


def query_consume_queue(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """321."""
    header = call.header
    assert isinstance(header, QueryConsumeQueueRequestHeader)
    topic, queue_id, index = header.topic or "", header.queue_id, header.index

    def reply(body: QueryConsumeQueueResponseBody | None) -> Reply:
        if body is None:
            return Reply(remark=f"Index {index} of {queue_id}@{topic} is not exist!")
        return Reply(body=body.encode())

    found = query.query_consume_queue(broker, topic, queue_id, index, header.count, header.consumer_group)
    return then(found, reply)


def requests(operations: QueueOperations = OF_THIS_BROKER) -> dict[int, Request]:
    """The functions by code, with these operations behind those about one queue."""
    return QueueRequests(operations).table | {
        RequestCode.CLONE_GROUP_OFFSET: Request(clone_offset, Needs.NOT_FENCED),
        RequestCode.GET_ALL_CONSUMER_OFFSET: Request(all_offsets, Needs.NOTHING),
        RequestCode.QUERY_MESSAGE: Request(query_message, Needs.NOTHING),
        RequestCode.VIEW_MESSAGE_BY_ID: Request(view_message, Needs.NOTHING),
        RequestCode.QUERY_CONSUME_QUEUE: Request(query_consume_queue, Needs.NOTHING),
    }
