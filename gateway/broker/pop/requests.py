"""Remoting requests of POP: 200050 to 200056 and 200151.

RocketMQ: `PopMessageProcessor`, `AckMessageProcessor`, `ChangeInvisibleTimeProcessor`,
`PeekMessageProcessor`, `NotificationProcessor`, `PollingInfoProcessor`.
"""

from collections.abc import Iterator
from functools import partial

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import (
    Receipt,
    message_count_info,
    message_offset_info,
    order_count_info,
    real_topic,
    start_offset_info,
)
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import GetStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.broker.operations import (
    CheckpointAcks,
    Delivery,
    NotificationOutcome,
    Operations,
    Peek,
    PeekOutcome,
    Permit,
    PopFind,
    PopOutcome,
    Receive,
    Use,
    Watch,
)
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.bodies.pop import BatchAck as BatchAckBody
from mqgateway.gateway.codec.bodies.pop import BatchAckMessageRequestBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    NotificationRequestHeader,
    NotificationResponseHeader,
    PeekMessageRequestHeader,
    PollingInfoRequestHeader,
    PollingInfoResponseHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.runtime.outcomes import then

FROM_OLDEST = 0
"""A new group begins at the oldest message. RocketMQ: `ConsumeInitMode.MIN`."""
BITS_MAX = 16384
"""Maximum length, in characters, of the bit set that names messages of one pop."""


def pop_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """200050 POP_MESSAGE."""
    header = call.header
    assert isinstance(header, PopMessageRequestHeader)
    wanted = Receive(
        header.consumer_group,
        header.topic,
        header.max_msg_nums,
        header.invisible_time,
        header.poll_time,
        header.exp,
        header.exp_type,
        header.order,
        header.attempt_id,
        header.queue_id,
        header.init_mode == FROM_OLDEST,
        header.born_time,
    )
    outcome = operations.pop.receive(permit, wanted)
    return then(outcome, partial(_popped, header.order))


def _popped(is_ordered: bool, outcome: PopOutcome) -> Reply:
    finds = outcome.finds
    response = PopMessageResponseHeader(
        pop_time=outcome.pop_time,
        invisible_time=outcome.invisible_time,
        revive_qid=outcome.revive_queue_id,
        rest_num=outcome.rest,
        start_offset_info=";".join(
            [start_offset_info(find.topic, find.queue_id, find.start_offset) for find in finds]
        ),
        msg_offset_info=";".join(
            [message_offset_info(find.topic, find.queue_id, find.queue_offsets) for find in finds]
        ),
        order_count_info=";".join(map(_order_counts, finds)) if is_ordered else None,
    )
    if not outcome.is_found:
        code = ResponseCode[outcome.status.name]
        return Reply(code, response, remark=GetStatus.NO_MESSAGE_IN_QUEUE.name)
    body = b"".join([find.body for find in finds])
    return Reply(ResponseCode.SUCCESS, response, body, GetStatus.FOUND.name)


def _order_counts(find: PopFind) -> str:
    """Return the delivery counts of redelivered messages, then the minimum of all messages."""
    counts = find.counts or {}
    least = min(counts.values()) if len(counts) == len(find.queue_offsets) else 0
    infos = [message_count_info(find.topic, find.queue_id, *count) for count in counts.items()]
    return ";".join([*infos, order_count_info(find.topic, find.queue_id, least)])


def ack_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """200051 ACK_MESSAGE."""
    header = call.header
    assert isinstance(header, AckMessageRequestHeader)
    return _done(operations.pop.acknowledge(permit, _delivery(header)))


def _delivery(header: AckMessageRequestHeader | ChangeInvisibleTimeRequestHeader) -> Delivery:
    return Delivery(
        header.consumer_group,
        header.topic,
        header.queue_id,
        header.extra_info,
        header.offset,
        header.lite_topic,
    )


def batch_ack_message(operations: Operations, permit: Permit, call: Call) -> Steps[Reply | Deferred[Reply]]:
    """200151 BATCH_ACK_MESSAGE."""
    batches = [] if not call.body else BatchAckMessageRequestBody.decode(call.body).acks
    if not batches:
        return Reply(ResponseCode.NO_MESSAGE)
    given = _batches(batches, operations.options.broker_name)
    return _done((yield from operations.pop.acknowledging(permit, given)))


def _done(stored: Deferred[None] | None) -> Reply | Deferred[Reply]:
    return Reply() if stored is None else stored.addCallback(lambda _: Reply())


def _batches(batches: list[BatchAckBody], broker_name: str) -> Iterator[CheckpointAcks]:
    """Parse acknowledgements one by one: a malformed one fails only when its turn comes."""
    for batch in batches:
        try:
            topic = real_topic(batch.topic, batch.consumer_group, batch.retry)
            if len(batch.bit_set) > BITS_MAX:
                raise ValueError(
                    f"{len(batch.bit_set)} characters of bits are too many, {BITS_MAX} are allowed"
                )
            offsets = batch.offsets
        except ValueError as error:
            raise OperationError(Reason.SYSTEM_ERROR, f"an acknowledgement cannot be read: {error}") from None
        receipt = Receipt(
            batch.start_offset,
            batch.pop_time,
            batch.invisible_time,
            batch.revive_queue_id,
            batch.retry,
            broker_name,
        )
        yield CheckpointAcks(topic, batch.consumer_group, batch.queue_id, receipt, offsets)


def change_invisible_time(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """200053 CHANGE_MESSAGE_INVISIBLETIME."""
    header = call.header
    assert isinstance(header, ChangeInvisibleTimeRequestHeader)
    changed = operations.pop.change_invisible_time(
        permit, _delivery(header), header.invisible_time, is_suspended=header.suspend
    )
    return then(changed, _changed)


def _changed(receipt: Receipt | None) -> Reply:
    if receipt is None:
        return Reply(ResponseCode.NO_MESSAGE)
    response = ChangeInvisibleTimeResponseHeader(
        pop_time=receipt.pop_time,
        invisible_time=receipt.invisible_time,
        revive_qid=receipt.revive_queue_id,
    )
    return Reply(header=response)


def peek_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """200052 PEEK_MESSAGE."""
    header = call.header
    assert isinstance(header, PeekMessageRequestHeader)
    wanted = Peek(header.consumer_group, header.topic, header.queue_id, header.max_msg_nums)
    outcome = operations.pop.peek(permit, wanted)
    return then(outcome, _peeked)


def _peeked(outcome: PeekOutcome) -> Reply:
    response = PopMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0, rest_num=outcome.rest)
    if not outcome.bodies:
        return Reply(ResponseCode.PULL_NOT_FOUND, response, remark=GetStatus.NO_MESSAGE_IN_QUEUE.name)
    return Reply(ResponseCode.SUCCESS, response, b"".join(outcome.bodies), GetStatus.FOUND.name)


def notification(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """200054 NOTIFICATION."""
    header = call.header
    assert isinstance(header, NotificationRequestHeader)
    wanted = Watch(
        header.consumer_group,
        header.topic,
        header.queue_id,
        header.poll_time,
        header.exp,
        header.exp_type,
        header.order,
        header.attempt_id,
        header.born_time,
    )
    outcome = operations.pop.watch(permit, wanted)
    return then(outcome, _notified)


def _notified(outcome: NotificationOutcome) -> Reply:
    response = NotificationResponseHeader(has_msg=outcome.has_message, polling_full=outcome.is_polling_full)
    return Reply(header=response)


def polling_info(operations: Operations, permit: Permit, call: Call) -> Reply:
    """200055 POLLING_INFO."""
    header = call.header
    assert isinstance(header, PollingInfoRequestHeader)
    number = operations.pop.waiting(permit, header.consumer_group, header.topic, header.queue_id)
    return Reply(header=PollingInfoResponseHeader(polling_num=number))


def pop_rollback(broker: Broker, call: Call) -> Reply:
    """200056 POP_ROLLBACK: move checkpoints from RocksDB back to the log, where they always are."""
    return Reply()


REQUESTS: dict[int, RequestDeclaration | Translated] = {
    RequestCode.POP_MESSAGE: Translated(pop_message, Use.RECEIVE),
    RequestCode.ACK_MESSAGE: Translated(ack_message, Use.ACKNOWLEDGE),
    RequestCode.BATCH_ACK_MESSAGE: Translated(batch_ack_message, Use.ACKNOWLEDGE),
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: Translated(change_invisible_time, Use.CHANGE_INVISIBLE_TIME),
    RequestCode.PEEK_MESSAGE: Translated(peek_message, Use.QUERY),
    RequestCode.NOTIFICATION: Translated(notification, Use.QUERY),
    RequestCode.POLLING_INFO: Translated(polling_info, Use.QUERY),
    RequestCode.POP_ROLLBACK: RequestDeclaration(pop_rollback, Needs.NOT_FENCED),
}
"""Requests of POP by code."""
