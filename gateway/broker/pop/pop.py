"""Pops: deliver messages that no consumer of the group has in flight, each to be acknowledged.

`pop` checks request, broker, topic and group, and reads the queues (`reading`). It then stores a checkpoint
for the messages of each queue, or records them as in flight if they are popped in order. A pop that finds
nothing and may wait is parked (`parked_pops`); a woken pop starts over. Messages of the retry topics are
delivered under the topic itself. On a slave that acts for its master, another broker stores the checkpoints
(`away`), and the outcome waits for that. RocketMQ: `PopMessageProcessor`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.pop import (
    MESSAGES_MAX,
    ORDER_REVIVE_QUEUE,
    CheckPoint,
    OrderKey,
    PointKey,
    Receipt,
)
from mqgateway.engine.store.message_store import GetStatus, PutResult, PutStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE
from mqgateway.gateway.broker.polling import (
    PollingStatus,
    check_in_time,
    check_readable,
    clients_now,
    time_left,
    wait,
)
from mqgateway.gateway.broker.pop.away import PopsAway, Taking
from mqgateway.gateway.broker.pop.checks import checked_group, checked_topic, wanted_by
from mqgateway.gateway.broker.pop.reading import PopReadResult, Receive, as_delivered, queues_to_read, read
from mqgateway.gateway.runtime.outcomes import is_pending_or, then

SCAN_ROUNDS = 16
"""Reads of one pop while they find only messages that its filter rejects."""

SKIPPED = (GetStatus.NO_MATCHED_MESSAGE, GetStatus.MESSAGE_WAS_REMOVING, GetStatus.OFFSET_FOUND_NULL)
"""Statuses of a read that found nothing, but has a next offset."""


class PopFind(NamedTuple):
    """Messages popped from one queue; the checkpoint starts at `start_offset`.

    `body` contains the messages' records, back to back. Of messages popped in order, `counts` maps each
    message that was delivered before to the number of its deliveries.
    """

    topic: str
    queue_id: int
    start_offset: int
    queue_offsets: Sequence[int]
    body: bytes
    counts: Mapping[int, int] | None = None


class PopOutcome(NamedTuple):
    """Result of a pop. Times in ms.

    `rest` counts the messages that could be popped besides these.
    """

    status: PollingStatus
    finds: list[PopFind]
    pop_time: int
    invisible_time: int
    revive_queue_id: int
    rest: int

    @property
    def is_found(self) -> bool:
        """True if there are messages."""
        return bool(self.finds)


class CheckedPop(NamedTuple):
    """A checked pop, with its connection."""

    connection: ClientConnection
    request: Receive
    topic: TopicConfig
    group: SubscriptionGroupConfig
    wanted: Wanted


def pop(broker: Broker, request: Receive, connection: ClientConnection) -> PopOutcome | Deferred[PopOutcome]:
    """Deliver messages, or wait for them as long as the client does.

    Raises `OperationError`.
    """
    topic, group = _checked(broker, request, connection)
    wanted = wanted_by(broker, request.topic, request.expression, request.expression_type)
    checked = CheckedPop(connection, request, topic, group, wanted)
    return reading(broker, partial(_pop_or_wait, broker, checked))


def _checked(
    broker: Broker, request: Receive, connection: ClientConnection
) -> tuple[TopicConfig, SubscriptionGroupConfig]:
    ip = broker.options.broker_ip1
    check_in_time(broker, connection, request)
    check_readable(broker, "pop")
    if request.max_messages > MESSAGES_MAX:
        raise OperationError(
            Reason.INVALID_PARAMETER, f"the broker[{ip}] pop message's num is greater than 32"
        )
    if not broker.timers.is_enabled:
        raise OperationError(
            Reason.SYSTEM_ERROR,
            f"the broker[{ip}] pop message is forbidden because timerWheelEnable is false",
        )
    longest = broker.store_options.timer_max_delay_sec * 1000
    if request.invisible_time > longest:
        raise OperationError(
            Reason.INVALID_PARAMETER, f"messages may be invisible for {longest} ms, no longer"
        )
    topic = checked_topic(broker, connection, request.topic, request.queue_id)
    return topic, checked_group(broker, request.group)


def _pop_or_wait(broker: Broker, checked: CheckedPop, rounds: int) -> PopOutcome | Deferred[PopOutcome]:
    outcome = _pop(broker, checked, may_wait=not rounds)
    if is_pending_or(outcome, _is_found):
        return outcome
    request, connection = checked.request, checked.connection
    left = time_left(request, clients_now(broker, connection))
    if left <= 0:
        return outcome
    place = OrderKey(request.topic, request.group, request.queue_id)
    look = partial(_look, broker, checked)
    waiting = wait(broker, broker.pop.parked, connection, place, checked.wanted, left, look, _is_found)
    return then(outcome, _not_parked) if waiting is None else waiting


def _is_found(outcome: PopOutcome) -> bool:
    return outcome.is_found


def _not_parked(outcome: PopOutcome) -> PopOutcome:
    return outcome._replace(status=PollingStatus.POLLING_FULL)


def _look(broker: Broker, checked: CheckedPop) -> PopOutcome | Deferred[PopOutcome]:
    """Read again for a parked pop; a read that waits for the disk is answered whatever it finds."""
    return reading(broker, lambda rounds: _pop(broker, checked, may_wait=not rounds))


def _pop(broker: Broker, checked: CheckedPop, *, may_wait: bool) -> PopOutcome | Deferred[PopOutcome]:
    """Read and deliver, or have another broker record the delivery first. Raises `ColdRead`."""
    request, away = checked.request, broker.pop.away
    for _ in range(SCAN_ROUNDS):
        queues = list(queues_to_read(broker, request, checked.topic, checked.group))
        if away is not None:
            group, busy = request.group, away.busy
            queues = [queue for queue in queues if (queue.topic, group, queue.queue_id) not in busy]
        found, rest = read(broker, request, queues, checked.wanted, may_wait=may_wait)
        receipt = _receipt(broker, request)
        if away is not None and not request.is_ordered and any(one.result.queue_offsets for one in found):
            return _give_out_away(broker, request, found, rest, receipt, away)
        take = partial(_take, broker, request, receipt)
        outcome = _give_out(broker, request, found, rest, receipt, take)
        if outcome.is_found:
            if outcome.rest > 0:
                queue_id = max(request.queue_id, ANY_QUEUE)
                broker.pop.parked.wake(OrderKey(request.topic, request.group, queue_id))
            break
        if not any(_is_partial(one) for one in found):
            break
    return outcome


def _is_partial(found: PopReadResult) -> bool:
    """Return True if a queue was read only partly, without finding a message."""
    result = found.result
    return result.status in SKIPPED and found.offset < result.next_offset < result.max_offset


def _receipt(broker: Broker, request: Receive) -> Receipt:
    """Return the fields that the receipts of all messages of a pop share."""
    queue_id = ORDER_REVIVE_QUEUE if request.is_ordered else broker.pop.log.next_revive_queue()
    now = broker.store.steady.now()
    return Receipt(0, now, request.invisible_time, queue_id, "", broker.options.broker_name)


def _give_out_away(
    broker: Broker,
    request: Receive,
    found: list[PopReadResult],
    rest: int,
    receipt: Receipt,
    away: PopsAway,
) -> Deferred[PopOutcome]:
    """Deliver the messages found whose checkpoints another broker stores."""
    takings = {
        one.queue: Taking(_point(broker, request, receipt, one), one.result.next_offset)
        for one in found
        if one.result.queue_offsets
    }

    def stored(results: list[PutResult]) -> PopOutcome:
        if broker.pop.away is not away:
            raise OperationError(Reason.SYSTEM_ERROR, "nothing can be delivered: the master is back")
        puts = dict(zip(takings, results, strict=True))

        def take(one: PopReadResult) -> OperationError | None:
            refusal = _refusal(puts[one.queue])
            if refusal is None:
                away.popped(takings[one.queue])
            return refusal

        return _give_out(broker, request, found, rest, receipt, take)

    def released(result: PopOutcome | Failure) -> PopOutcome | Failure:
        for taking in takings.values():
            away.busy.discard(taking.place)
            broker.pop.offer(taking.place)
        return result

    asked = away.store(list(takings.values()), receipt.revive_queue_id)
    return asked.addCallback(stored).addBoth(released)


def _give_out(
    broker: Broker,
    request: Receive,
    found: list[PopReadResult],
    rest: int,
    receipt: Receipt,
    take: Callable[[PopReadResult], OperationError | None],
) -> PopOutcome:
    """Record the deliveries; `take` returns the error if a queue's messages may not be delivered."""
    finds: list[PopFind] = []
    for one in found:
        queue, result = one.queue, one.result
        counts: Mapping[int, int] | None = None
        if not result.queue_offsets:
            _skip(broker, request, one)
        elif request.is_ordered:
            counts = _take_in_order(broker, request, one, receipt.pop_time)
        elif (failed := take(one)) is not None:
            if not finds:
                raise failed
            rest += result.count
            continue
        rest += result.max_offset - result.next_offset
        if not result.queue_offsets:
            continue
        body = result.body
        if queue.is_retry and not broker.options.pop_response_return_actual_retry_topic:
            body = as_delivered(body, request.topic, receipt._replace(start_offset=one.offset))
        finds.append(PopFind(queue.topic, queue.queue_id, one.offset, result.queue_offsets, body, counts))
        stats = broker.stats
        stats.got(request.group, queue.topic, result.count, result.size)
        if stats.meters is not None:
            stats.meters.popped(queue.topic, request.group, result.count, result.size)
    status = PollingStatus.FOUND if finds else PollingStatus.POLLING_TIMEOUT
    return PopOutcome(status, finds, receipt.pop_time, request.invisible_time, receipt.revive_queue_id, rest)


def _point(broker: Broker, request: Receive, receipt: Receipt, one: PopReadResult) -> CheckPoint:
    """Return the checkpoint of the messages of one queue."""
    (topic, queue_id), start, result = one
    key = PointKey(topic, request.group, queue_id, start, receipt.pop_time, receipt.broker_name)
    distances = tuple(offset - start for offset in result.queue_offsets)
    log_end = broker.store.max_physical_offset
    return CheckPoint(key, request.invisible_time, distances, log_offset=log_end)


def _take(broker: Broker, request: Receive, receipt: Receipt, one: PopReadResult) -> OperationError | None:
    """Store the checkpoint of one queue's messages; return the error that forbids their delivery."""
    point = _point(broker, request, receipt, one)
    return _refusal(broker.pop.log.pop(point, receipt.revive_queue_id, one.result.next_offset))


def _refusal(put: PutResult) -> OperationError | None:
    """Return the error of a checkpoint that is not stored; None if it is."""
    if put.status is PutStatus.PUT_OK:
        return None
    return OperationError(Reason.SYSTEM_ERROR, f"nothing can be delivered: {put.remark or put.status.name}")


def _take_in_order(broker: Broker, request: Receive, one: PopReadResult, now: int) -> Mapping[int, int]:
    """Record messages of one queue as in flight; return how often messages were delivered before."""
    (topic, queue_id), start, result = one
    key = OrderKey(topic, request.group, queue_id)
    offsets = tuple(result.queue_offsets)
    order = broker.pop.orders.take(key, request.attempt_id, now, request.invisible_time, offsets, now)
    broker.pop.log.in_flight.forget(lambda each: each == key)
    broker.pop.log.in_flight.add(key, result.count)
    broker.tables.offsets.commit(request.group, topic, queue_id, start)
    return order.counts


def _skip(broker: Broker, request: Receive, one: PopReadResult) -> None:
    """Move the group past messages that its filter rejects."""
    (topic, queue_id), start, result = one
    if result.status not in SKIPPED or result.next_offset == start:
        return
    broker.tables.offsets.commit(request.group, topic, queue_id, result.next_offset)
