"""The remoting requests of POP: 200050 to 200056 and 200151.

Standard: `PopMessageProcessor`, `AckMessageProcessor`, `ChangeInvisibleTimeProcessor`,
`PeekMessageProcessor`, `NotificationProcessor`, `PollingInfoProcessor`.
"""

from collections.abc import Iterator

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
from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.broker.pop import acks, pop, questions
from mqgateway.gateway.broker.pop.pop import PopFind, PopOutcome
from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody
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

BITS_MAX = 16384
"""Characters of the bits that stand for the messages of one pop."""


def pop_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """200050 POP_MESSAGE."""
    header = call.header
    assert isinstance(header, PopMessageRequestHeader)
    outcome = pop.pop(broker, header, call.peer)
    if isinstance(outcome, Deferred):
        return outcome.addCallback(_popped, header.order)
    return _popped(outcome, header.order)


def _popped(outcome: PopOutcome, is_ordered: bool) -> Reply:
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
    """How often messages of a queue were given out before: each that was, then all of them, at least."""
    counts = find.counts or {}
    least = min(counts.values()) if len(counts) == len(find.queue_offsets) else 0
    infos = [message_count_info(find.topic, find.queue_id, *count) for count in counts.items()]
    return ";".join([*infos, order_count_info(find.topic, find.queue_id, least)])


def ack_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """200051 ACK_MESSAGE."""
    header = call.header
    assert isinstance(header, AckMessageRequestHeader)
    return _done(acks.acknowledge(broker, header, call.peer))


def batch_ack_message(broker: Broker, call: Call) -> Steps[Reply | Deferred[Reply]]:
    """200151 BATCH_ACK_MESSAGE."""
    batches = [] if not call.body else BatchAckMessageRequestBody.decode(call.body).acks
    if not batches:
        return Reply(ResponseCode.NO_MESSAGE)
    given = _batches(batches, broker.options.broker_name)
    return _done((yield from acks.acknowledge_batch(broker, given, call.peer)))


def _done(stored: Deferred[None] | None) -> Reply | Deferred[Reply]:
    return Reply() if stored is None else stored.addCallback(lambda _: Reply())


def _batches(batches: list[BatchAck], broker_name: str) -> Iterator[acks.BatchAck]:
    """What is acknowledged, one by one: what cannot be read comes to light when it is its turn."""
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
        yield acks.BatchAck(topic, batch.consumer_group, batch.queue_id, receipt, offsets)


def change_invisible_time(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """200053 CHANGE_MESSAGE_INVISIBLETIME."""
    header = call.header
    assert isinstance(header, ChangeInvisibleTimeRequestHeader)
    changed = acks.change_invisible_time(broker, header, call.peer)
    return changed.addCallback(_changed) if isinstance(changed, Deferred) else _changed(changed)


def _changed(receipt: Receipt | None) -> Reply:
    if receipt is None:
        return Reply(ResponseCode.NO_MESSAGE)
    response = ChangeInvisibleTimeResponseHeader(
        pop_time=receipt.pop_time,
        invisible_time=receipt.invisible_time,
        revive_qid=receipt.revive_queue_id,
    )
    return Reply(header=response)


def peek_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """200052 PEEK_MESSAGE."""
    header = call.header
    assert isinstance(header, PeekMessageRequestHeader)
    outcome = questions.peek(broker, header, call.peer)
    return outcome.addCallback(_peeked) if isinstance(outcome, Deferred) else _peeked(outcome)


def _peeked(outcome: questions.PeekOutcome) -> Reply:
    response = PopMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0, rest_num=outcome.rest)
    if not outcome.bodies:
        return Reply(ResponseCode.PULL_NOT_FOUND, response, remark=GetStatus.NO_MESSAGE_IN_QUEUE.name)
    return Reply(ResponseCode.SUCCESS, response, b"".join(outcome.bodies), GetStatus.FOUND.name)


def notification(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """200054 NOTIFICATION."""
    header = call.header
    assert isinstance(header, NotificationRequestHeader)
    outcome = questions.notification(broker, header, call.peer)
    return outcome.addCallback(_notified) if isinstance(outcome, Deferred) else _notified(outcome)


def _notified(outcome: questions.NotificationOutcome) -> Reply:
    response = NotificationResponseHeader(has_msg=outcome.has_message, polling_full=outcome.is_polling_full)
    return Reply(header=response)


def polling_info(broker: Broker, call: Call) -> Reply:
    """200055 POLLING_INFO."""
    header = call.header
    assert isinstance(header, PollingInfoRequestHeader)
    number = questions.polling_info(broker, header.topic, header.consumer_group, header.queue_id, call.peer)
    return Reply(header=PollingInfoResponseHeader(polling_num=number))


def pop_rollback(broker: Broker, call: Call) -> Reply:
    """200056 POP_ROLLBACK: bring check points from RocksDB back into the log, where they always are."""
    return Reply()


REQUESTS: dict[int, Request] = {
    RequestCode.POP_MESSAGE: Request(pop_message, Needs.MASTER_OR_ACTING),
    RequestCode.ACK_MESSAGE: Request(ack_message, Needs.MASTER_OR_ACTING),
    RequestCode.BATCH_ACK_MESSAGE: Request(batch_ack_message, Needs.MASTER_OR_ACTING),
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: Request(change_invisible_time, Needs.MASTER_OR_ACTING),
    RequestCode.PEEK_MESSAGE: Request(peek_message, Needs.NOTHING),
    RequestCode.NOTIFICATION: Request(notification, Needs.NOTHING),
    RequestCode.POLLING_INFO: Request(polling_info, Needs.NOTHING),
    RequestCode.POP_ROLLBACK: Request(pop_rollback, Needs.NOT_FENCED),
}
"""What is answered here."""
