"""200050 POP_MESSAGE: messages of a topic that nobody of the group has, each to be acknowledged.

The way: `pop_message` checks request, broker, topic and group, reads the queues (`pop_reading`), then stores
a check point for what each queue gave, or notes it as out if it is popped in order, and answers. What finds
nothing and may wait is parked in `pop_holds`; who is woken goes the way once more. Messages of the retry
topics are given out under the topic itself. Where a slave acts for its master the check points are stored by
another broker (`pop_away`), and the answer waits for that. Standard: `PopMessageProcessor`.
"""

from collections.abc import Callable
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
    message_count_info,
    message_offset_info,
    order_count_info,
    start_offset_info,
)
from mqgateway.engine.store.message_store import GetStatus, PutResult, PutStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.pop.away import PopsAway, Taking
from mqgateway.gateway.broker.pop.checks import (
    check_broker,
    check_in_time,
    checked_group,
    checked_topic,
    clients_now,
    time_left,
    wait,
    wanted_by,
)
from mqgateway.gateway.broker.pop.parked import ANY_QUEUE
from mqgateway.gateway.broker.pop.reading import Found, as_given_out, places, read
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import PopMessageRequestHeader, PopMessageResponseHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

SCAN_ROUNDS = 16
"""How often a pop reads on that was given nothing but messages it does not want."""

SKIPPED = (GetStatus.NO_MATCHED_MESSAGE, GetStatus.MESSAGE_WAS_REMOVING, GetStatus.OFFSET_FOUND_NULL)
"""Nothing was found, but there is a place to go on from."""


class Question(NamedTuple):
    """A pop that passed the checks."""

    call: Call
    header: PopMessageRequestHeader
    topic: TopicConfig
    group: SubscriptionGroupConfig
    wanted: Wanted


class Outcome(NamedTuple):
    """What a pop found; `rest` counts messages that could be popped beside those."""

    reply: Reply
    is_found: bool
    rest: int


def pop_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Give out messages, or wait for them as long as the client will."""
    header = call.header
    assert isinstance(header, PopMessageRequestHeader)
    topic, group = _checked(broker, call, header)
    wanted = wanted_by(broker, header.topic, header.exp, header.exp_type)
    return reading(broker, partial(_pop_or_wait, broker, Question(call, header, topic, group, wanted)))


def _checked(
    broker: Broker, call: Call, header: PopMessageRequestHeader
) -> tuple[TopicConfig, SubscriptionGroupConfig]:
    ip = broker.options.broker_ip1
    check_in_time(broker, call.peer, header)
    check_broker(broker, "pop")
    if header.max_msg_nums > MESSAGES_MAX:
        raise RequestError(
            ResponseCode.INVALID_PARAMETER, f"the broker[{ip}] pop message's num is greater than 32"
        )
    if not broker.timers.is_enabled:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR,
            f"the broker[{ip}] pop message is forbidden because timerWheelEnable is false",
        )
    longest = broker.store_options.timer_max_delay_sec * 1000
    if header.invisible_time > longest:
        raise RequestError(
            ResponseCode.INVALID_PARAMETER, f"messages may be invisible for {longest} ms, no longer"
        )
    topic = checked_topic(broker, call, header.topic, header.queue_id)
    return topic, checked_group(broker, header.consumer_group)


def _pop_or_wait(broker: Broker, question: Question, rounds: int) -> Reply | Deferred[Reply]:
    outcome = _pop(broker, question, may_wait=not rounds)
    if isinstance(outcome, Deferred):
        return outcome
    header = question.header
    left = time_left(header, clients_now(broker, question.call.peer))
    if outcome.is_found or left <= 0:
        return outcome.reply
    place = OrderKey(header.topic, header.consumer_group, header.queue_id)
    look = partial(_look, broker, question)
    waiting = wait(broker, broker.pops.parked, question.call, place, question.wanted, left, look)
    if waiting is None:
        outcome.reply.code = ResponseCode.POLLING_FULL
        return outcome.reply
    return waiting


def _look(broker: Broker, question: Question, is_last: bool) -> Reply | Deferred[Reply] | None:
    """Look once more for one that waits; who waits for the disk is answered, whatever comes from there."""

    def attempt(rounds: int) -> Reply | Deferred[Reply]:
        outcome = _pop(broker, question, may_wait=not rounds)
        return outcome if isinstance(outcome, Deferred) else outcome.reply

    reply = reading(broker, attempt)
    is_answer = is_last or isinstance(reply, Deferred) or reply.code == ResponseCode.SUCCESS
    return reply if is_answer else None


def _pop(broker: Broker, question: Question, *, may_wait: bool) -> Outcome | Deferred[Reply]:
    """Read and give out, or have it stored elsewhere that this is given out. Raises `ColdRead`."""
    header, away = question.header, broker.pops.away
    for _ in range(SCAN_ROUNDS):
        where = list(places(broker, header, question.topic, question.group))
        if away is not None:
            where = [
                place
                for place in where
                if OrderKey(place.topic, header.consumer_group, place.queue_id) not in away.busy
            ]
        found, rest = read(broker, header, where, question.wanted, may_wait=may_wait)
        receipt = _receipt(broker, header)
        if away is not None and not header.order and any(one.result.queue_offsets for one in found):
            return _give_out_away(broker, header, found, rest, receipt, away)
        take = partial(_take, broker, header, receipt)
        outcome = _give_out(broker, header, found, rest, receipt, take)
        if outcome.is_found:
            if outcome.rest > 0:
                broker.pops.parked.wake(
                    OrderKey(header.topic, header.consumer_group, max(header.queue_id, ANY_QUEUE))
                )
            break
        if not any(_is_partial(one) for one in found):
            break
    return outcome


def _is_partial(found: Found) -> bool:
    """Whether a queue was read a part of the way, without finding anything."""
    result = found.result
    return result.status in SKIPPED and found.offset < result.next_offset < result.max_offset


def _receipt(broker: Broker, header: PopMessageRequestHeader) -> Receipt:
    """What all messages of a pop that is made now have in common."""
    queue_id = ORDER_REVIVE_QUEUE if header.order else broker.pops.log.next_revive_queue()
    now = broker.store.steady.now()
    return Receipt(0, now, header.invisible_time, queue_id, "", broker.options.broker_name)


def _give_out_away(
    broker: Broker,
    header: PopMessageRequestHeader,
    found: list[Found],
    rest: int,
    receipt: Receipt,
    away: PopsAway,
) -> Deferred[Reply]:
    """Give out what was found, as far as its check points are stored by another broker."""
    takings = {
        one.place: Taking(_point(header, receipt, one), one.result.next_offset)
        for one in found
        if one.result.queue_offsets
    }

    def stored(results: list[PutResult]) -> Reply:
        if broker.pops.away is not away:
            raise RequestError(ResponseCode.SYSTEM_ERROR, "nothing can be given out: the master is back")
        puts = dict(zip(takings, results, strict=True))

        def take(one: Found) -> RequestError | None:
            refusal = _refusal(puts[one.place])
            if refusal is None:
                away.popped(takings[one.place])
            return refusal

        return _give_out(broker, header, found, rest, receipt, take).reply

    def released(result: Reply | Failure) -> Reply | Failure:
        for taking in takings.values():
            away.busy.discard(taking.place)
            broker.pops.offer(taking.place)
        return result

    asked = away.store(list(takings.values()), receipt.revive_queue_id)
    return asked.addCallback(stored).addBoth(released)


def _give_out(
    broker: Broker,
    header: PopMessageRequestHeader,
    found: list[Found],
    rest: int,
    receipt: Receipt,
    take: Callable[[Found], RequestError | None],
) -> Outcome:
    """Note what is given out, and answer; `take` gives why a queue may not give anything out."""
    now = receipt.pop_time
    starts: list[str] = []
    offsets: list[str] = []
    counts: list[str] = []
    bodies: list[bytes] = []
    for one in found:
        place, result = one.place, one.result
        if not result.queue_offsets:
            _skip(broker, header, one)
        elif header.order:
            counts += _take_in_order(broker, header, one, now)
        elif (failed := take(one)) is not None:
            if not bodies:
                raise failed
            rest += result.count
            continue
        rest += result.max_offset - result.next_offset
        if not result.queue_offsets:
            continue
        starts.append(start_offset_info(place.topic, place.queue_id, one.offset))
        offsets.append(message_offset_info(place.topic, place.queue_id, result.queue_offsets))
        body = result.body
        if place.is_retry and not broker.options.pop_response_return_actual_retry_topic:
            body = as_given_out(body, header.topic, receipt._replace(start_offset=one.offset))
        bodies.append(body)
        broker.stats.got(header.consumer_group, place.topic, result.count, result.size)
    status = GetStatus.FOUND if bodies else GetStatus.NO_MESSAGE_IN_QUEUE
    response = PopMessageResponseHeader(
        pop_time=now,
        invisible_time=header.invisible_time,
        revive_qid=receipt.revive_queue_id,
        rest_num=rest,
        start_offset_info=";".join(starts),
        msg_offset_info=";".join(offsets),
        order_count_info=";".join(counts) if header.order else None,
    )
    code = ResponseCode.SUCCESS if bodies else ResponseCode.POLLING_TIMEOUT
    return Outcome(Reply(code, response, b"".join(bodies), status.name), bool(bodies), rest)


def _point(header: PopMessageRequestHeader, receipt: Receipt, one: Found) -> CheckPoint:
    """The check point of what one queue gave."""
    (topic, queue_id), start, result = one
    key = PointKey(topic, header.consumer_group, queue_id, start, receipt.pop_time, receipt.broker_name)
    distances = tuple(offset - start for offset in result.queue_offsets)
    return CheckPoint(key, header.invisible_time, distances)


def _take(
    broker: Broker, header: PopMessageRequestHeader, receipt: Receipt, one: Found
) -> RequestError | None:
    """Store the check point of what one queue gave; gives why that failed, and nothing may be given out."""
    point = _point(header, receipt, one)
    return _refusal(broker.pops.log.pop(point, receipt.revive_queue_id, one.result.next_offset))


def _refusal(put: PutResult) -> RequestError | None:
    """Why nothing may be given out, if a check point is not stored."""
    if put.status is PutStatus.PUT_OK:
        return None
    return RequestError(
        ResponseCode.SYSTEM_ERROR, f"nothing can be given out: {put.remark or put.status.name}"
    )


def _take_in_order(broker: Broker, header: PopMessageRequestHeader, one: Found, now: int) -> list[str]:
    """Note what is out of one queue; gives how often each message was given out before."""
    (topic, queue_id), start, result = one
    group = header.consumer_group
    order = broker.pops.orders.take(
        OrderKey(topic, group, queue_id),
        header.attempt_id,
        now,
        header.invisible_time,
        tuple(result.queue_offsets),
        now,
    )
    broker.pops.log.in_flight.forget(lambda key: key == (topic, group, queue_id))
    broker.pops.log.in_flight.add((topic, group, queue_id), result.count)
    broker.offsets.commit(group, topic, queue_id, start)
    infos = [message_count_info(topic, queue_id, offset, count) for offset, count in order.counts.items()]
    is_all = len(order.counts) == len(order.offsets)
    least = min(order.counts.values()) if is_all else 0
    return [*infos, order_count_info(topic, queue_id, least)]


def _skip(broker: Broker, header: PopMessageRequestHeader, one: Found) -> None:
    """Let the group go on behind what it does not want."""
    (topic, queue_id), start, result = one
    if result.status not in SKIPPED or result.next_offset == start:
        return
    broker.offsets.commit(header.consumer_group, topic, queue_id, result.next_offset)
