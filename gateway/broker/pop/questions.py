"""200052 PEEK_MESSAGE, 200054 NOTIFICATION, 200055 POLLING_INFO: what a pop would find, and who waits.

None of them takes anything. Standard: `PeekMessageProcessor`, `NotificationProcessor`,
`PollingInfoProcessor`.
"""

from collections.abc import Iterator
from functools import partial

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import OrderKey, retry_topic
from mqgateway.engine.store.message_store import GetStatus
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.pop.checks import (
    check_broker,
    checked_group,
    checked_topic,
    clients_now,
    time_left,
    wait,
    wanted_by,
)
from mqgateway.gateway.broker.pop.parked import ANY_QUEUE
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import (
    NotificationRequestHeader,
    NotificationResponseHeader,
    PeekMessageRequestHeader,
    PollingInfoRequestHeader,
    PollingInfoResponseHeader,
    PopMessageResponseHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply

MISPLACED = (GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY)
RETRY_EVERY = 5
"""Every how many times a peek looks for messages that come again first."""


def peek_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Messages that a pop would be given."""
    header = call.header
    assert isinstance(header, PeekMessageRequestHeader)
    check_broker(broker, "peeking")
    topic = checked_topic(broker, call, header.topic, header.queue_id)
    checked_group(broker, header.consumer_group)
    return reading(broker, lambda rounds: _peek(broker, header, topic, may_wait=not rounds))


def _peek(broker: Broker, header: PeekMessageRequestHeader, topic: TopicConfig, *, may_wait: bool) -> Reply:
    """Read the queues, those of messages that come again first or last. Raises `ColdRead`."""
    group, store = header.consumer_group, broker.store
    chance = broker.pops.chance()
    places = list(_queues(topic, header.queue_id, chance))
    retries = list(_retries(broker, header.topic, group, chance))[:1]
    again = [place for config in retries for place in _queues(config, ANY_QUEUE, chance)]
    bodies: list[bytes] = []
    count = rest = 0
    for name, queue_id in again + places if chance % RETRY_EVERY == 0 else places + again:
        offset = broker.pops.first_offset(group, name, queue_id)
        rest += store.max_offset(name, queue_id) - offset
        most = header.max_msg_nums - count
        if most <= 0:
            continue
        result = store.get(name, queue_id, offset, most, may_wait=may_wait)
        if result.status in MISPLACED:
            result = store.get(name, queue_id, result.next_offset, most, may_wait=may_wait)
        if result.queue_offsets:
            bodies.append(result.body)
            count += len(result.queue_offsets)
    if bodies:
        broker.stats.got(group, header.topic, count, sum(map(len, bodies)))
    status = GetStatus.FOUND if bodies else GetStatus.NO_MESSAGE_IN_QUEUE
    code = ResponseCode.SUCCESS if bodies else ResponseCode.PULL_NOT_FOUND
    response = PopMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0, rest_num=rest)
    return Reply(code, response, b"".join(bodies), status.name)


def notification(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Tell when a pop would find something, or when the time is up."""
    header = call.header
    assert isinstance(header, NotificationRequestHeader)
    check_broker(broker, "peeking")
    topic = checked_topic(broker, call, header.topic, header.queue_id)
    checked_group(broker, header.consumer_group)
    wanted: Wanted = None
    if broker.options.use_message_filter_for_notification and header.exp_type:
        wanted = wanted_by(broker, header.topic, header.exp, header.exp_type)
    left = time_left(header, clients_now(broker, call.peer))
    has_message = _has_message(broker, header, topic, wanted)
    if has_message or left <= 0:
        return _told(has_message)
    place = OrderKey(header.topic, header.consumer_group, header.queue_id)
    look = partial(_look, broker, header, topic, wanted)
    return wait(broker, broker.pops.parked_notifications, call, place, wanted, left, look) or _told(
        False, is_full=True
    )


def _told(has_message: bool, *, is_full: bool = False) -> Reply:
    return Reply(header=NotificationResponseHeader(has_msg=has_message, polling_full=is_full))


def _look(
    broker: Broker, header: NotificationRequestHeader, topic: TopicConfig, wanted: Wanted, is_last: bool
) -> Reply | None:
    has_message = _has_message(broker, header, topic, wanted)
    return _told(has_message) if has_message or is_last else None


def _has_message(
    broker: Broker, header: NotificationRequestHeader, topic: TopicConfig, wanted: Wanted
) -> bool:
    chance = broker.pops.chance()
    if any(_has(broker, header, *place, wanted) for place in _queues(topic, header.queue_id, chance)):
        return True
    return any(
        _has(broker, header, *place, None)
        for config in _retries(broker, header.topic, header.consumer_group, chance)
        for place in _queues(config, ANY_QUEUE, chance)
    )


def _has(
    broker: Broker, header: NotificationRequestHeader, topic: str, queue_id: int, wanted: Wanted
) -> bool:
    """Whether one queue has something; of few messages those are left out that nobody wants."""
    group, now = header.consumer_group, broker.store.steady.now()
    key = OrderKey(header.topic, group, queue_id)
    if header.order and broker.pops.orders.is_blocked(key, header.attempt_id, now):
        return False
    offset = broker.pops.first_offset(group, topic, queue_id)
    rest = broker.store.max_offset(topic, queue_id) - offset
    if rest >= broker.options.max_message_filter_num_for_notification or not isinstance(wanted, frozenset):
        return rest > 0
    units = broker.store.consume_queue_units(topic, queue_id, offset, max(rest, 0))
    return any(code in wanted for _, _, code in units)


def polling_info(broker: Broker, call: Call) -> Reply:
    """How many pops wait for a queue."""
    header = call.header
    assert isinstance(header, PollingInfoRequestHeader)
    check_broker(broker, "peeking")
    checked_topic(broker, call, header.topic, header.queue_id)
    checked_group(broker, header.consumer_group)
    place = OrderKey(header.topic, header.consumer_group, max(header.queue_id, ANY_QUEUE))
    return Reply(header=PollingInfoResponseHeader(polling_num=broker.pops.parked.count(place)))


def pop_rollback(broker: Broker, call: Call) -> Reply:
    """200056 POP_ROLLBACK: bring check points from RocksDB back into the log, where they always are."""
    return Reply()


def _queues(topic: TopicConfig, queue_id: int, start: int) -> Iterator[tuple[str, int]]:
    """One queue, or all of them from anywhere on."""
    if queue_id >= 0:
        yield topic.topic_name, queue_id
        return
    for i in range(topic.read_queue_nums):
        yield topic.topic_name, (start + i) % topic.read_queue_nums


def _retries(broker: Broker, topic: str, group: str, chance: int) -> Iterator[TopicConfig]:
    """The retry topics there are."""
    options = broker.options
    kinds = [options.enable_retry_topic_v2]
    if options.enable_retry_topic_v2 and options.retrieve_message_from_pop_retry_topic_v1:
        kinds.append(False)
    for is_v2 in kinds:
        config = broker.topics.get(retry_topic(topic, group, is_v2))
        if config is not None:
            yield config
