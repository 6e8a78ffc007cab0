"""11 PULL_MESSAGE and 361 LITE_PULL_MESSAGE: the stored bytes from a queue offset on.

The way: `pull_message` checks broker, group, topic and queue, finds the subscription (the one of
the last heartbeat, or the one in the header), reads, commits the offset that came along, and
answers. What found nothing and may wait is parked in `longpoll.py`; when it is woken or its time
is up it goes the whole way once more, without waiting again; so does what was put off because its group reads
too much old data. What asks for messages that are not in
memory lets a worker bring them there, and then starts again from the beginning.

Standard: `PullMessageProcessor`, `DefaultPullMessageResultHandler`, `PullSysFlag`.
"""

from functools import partial

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import (
    ALL,
    Expression,
    compile_expression,
    compile_subscription,
    is_tag_type,
)
from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.lite.names import light_queue
from mqgateway.engine.message import RETRY_PREFIX, is_system_group
from mqgateway.engine.store.message_store import ColdRead, GetResult, GetStatus
from mqgateway.engine.store.results import Accept
from mqgateway.engine.tables.broadcasts import UNKNOWN, ClientKey
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import BROADCASTING
from mqgateway.gateway.broker.consume.cold_pulls import HOLD_MILLIS, count_cold, must_wait
from mqgateway.gateway.broker.consume.initial_offset import (
    broadcast_beginning,
    broadcast_reader,
    note_broadcast,
)
from mqgateway.gateway.broker.consume.long_polling import HeldPull, Wanted
from mqgateway.gateway.broker.errors import FAQ
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import PullMessageRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

LITE_PULL = int(RequestCode.LITE_PULL_MESSAGE)
COLD_ROUNDS = 8
"""How often messages that are not in memory are brought there for one pull before it waits for the disk."""

NEVER_PASSED = 2**62
"""The offset a pull waits for that only time lets go."""

FLAG_COMMIT_OFFSET = 1
FLAG_SUSPEND = 2
FLAG_SUBSCRIPTION = 4
FLAG_CLASS_FILTER = 8

# Why a pull was forbidden. Standard: `ForbiddenType`.
BROKER_FORBIDDEN = 1
GROUP_FORBIDDEN = 2
TOPIC_FORBIDDEN = 3
BROADCASTING_DISABLE_FORBIDDEN = 4
SUBSCRIPTION_FORBIDDEN = 5

SHOWS_DISTANCE = (GetStatus.FOUND, GetStatus.OFFSET_OVERFLOW_ONE)
"""After which it is known how far a group is behind."""
FOUND = GetStatus.FOUND  # a look-up in an enumeration costs more than the rest of a check
NOT_FOUND = int(ResponseCode.PULL_NOT_FOUND)
RETRY_AT_ONCE = int(ResponseCode.PULL_RETRY_IMMEDIATELY)
OFFSET_MOVED = int(ResponseCode.PULL_OFFSET_MOVED)
CODE_OF: dict[GetStatus, int] = {
    GetStatus.NO_MATCHED_MESSAGE: RETRY_AT_ONCE,
    GetStatus.MESSAGE_WAS_REMOVING: RETRY_AT_ONCE,
    GetStatus.OFFSET_TOO_SMALL: OFFSET_MOVED,
    GetStatus.OFFSET_OVERFLOW_ONE: NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_BADLY: OFFSET_MOVED,
    GetStatus.OFFSET_FOUND_NULL: NOT_FOUND,
    GetStatus.OFFSET_RESET: OFFSET_MOVED,
}
"""What is answered when nothing was found; the two statuses of an empty queue depend on the offset."""


class PutOff(Exception):
    """The pull is of old data, its group reads too much of it, and it can wait."""


def pull_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Answer with the records from an offset on, or wait for them as long as the client will."""
    return _pull_or_wait(broker, call, COLD_ROUNDS)


def _pull_or_wait(broker: Broker, call: Call, rounds: int) -> Reply | Deferred[Reply]:
    header = call.header
    assert isinstance(header, PullMessageRequestHeader)
    try:
        reply, wanted = _pull(broker, call, header, is_first=True, rounds=rounds)
    except PutOff:
        return _put_off(broker, call, header) or _pull(broker, call, header, is_first=False)[0]
    except ColdRead as cold:
        warm: Deferred[None] = Deferred()
        broker.store.bring(cold, lambda: warm.callback(None))
        return warm.addCallback(lambda _: _pull_or_wait(broker, call, rounds - 1))
    if reply.code == NOT_FOUND and header.sys_flag & FLAG_SUSPEND:
        return _wait(broker, call, header, wanted) or reply
    return reply


def _pull(
    broker: Broker, call: Call, header: PullMessageRequestHeader, *, is_first: bool, rounds: int = 0
) -> tuple[Reply, Wanted]:
    """Read once. The offset that came along is committed the first time only: it grows old while waiting.

    Raises `ColdRead` while messages may still be brought from the disk (`rounds`), and `PutOff`.
    """
    group = _checked_group(broker, call, header)
    topic = _checked_queue(broker, call, header)
    wanted = _wanted(broker, header, group)
    if broker.options.reject_pull_consumer_enable:
        _check_pull_consumer(broker, call, header)
    is_watched = broker.cold_reads.is_watched
    if is_watched and must_wait(broker, header, is_first=is_first):
        raise PutOff
    reader = broadcast_reader(broker, call.peer, header)
    result = _read(broker, header, wanted, reader, not rounds)
    offsets = broker.offsets
    offsets.commit_pull(header.consumer_group, header.topic, header.queue_id, result.next_offset)
    if is_first and header.sys_flag & FLAG_COMMIT_OFFSET:
        offsets.commit(header.consumer_group, header.topic, header.queue_id, header.commit_offset)
    if result.status is FOUND:
        code = 0
        broker.stats.got(header.consumer_group, header.topic, result.count, result.size)
        if is_watched:
            count_cold(broker, header.consumer_group, result, rounds < COLD_ROUNDS)
    else:
        code = CODE_OF.get(result.status, OFFSET_MOVED if header.queue_offset else NOT_FOUND)
    if broker.options.disable_consume_if_consumer_read_slowly and result.status in SHOWS_DISTANCE:
        broker.laggards.note(header.consumer_group, header.topic, header.queue_id, result.behind)
    if reader is not None:
        note_broadcast(broker, reader, header, code, result.next_offset)
    return _answer(broker, code, result, topic, group), wanted


def _checked_group(broker: Broker, call: Call, header: PullMessageRequestHeader) -> SubscriptionGroupConfig:
    """The group's settings, once broker and group allow the pull."""
    options = broker.options
    if not options.broker_permission & PERM_READ:
        raise _forbidden(BROKER_FORBIDDEN, f"the broker[{options.broker_ip1}] pulling message is forbidden")
    if call.command.code == LITE_PULL and not options.lite_pull_message_enable:
        raise _forbidden(
            BROKER_FORBIDDEN, f"the broker[{options.broker_ip1}] for lite pull consumer is forbidden"
        )
    group = broker.groups.find(header.consumer_group)
    if group is None:
        raise RequestError(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group [{header.consumer_group}] does not exist, {FAQ}",
        )
    if not group.consume_enable:
        raise _forbidden(GROUP_FORBIDDEN, f"subscription group no permission, {header.consumer_group}")
    return group


def _checked_queue(broker: Broker, call: Call, header: PullMessageRequestHeader) -> TopicConfig:
    """The topic, once it is known and readable and has the queue."""
    topic = broker.topics.get(header.topic)
    if topic is None:
        raise RequestError(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist, apply first please! {FAQ}"
        )
    if not topic.perm & PERM_READ:
        raise _forbidden(TOPIC_FORBIDDEN, f"the topic[{header.topic}] pulling message is forbidden")
    if not 0 <= header.queue_id < topic.read_queue_nums:
        raise RequestError(
            ResponseCode.INVALID_PARAMETER,
            f"queueId[{header.queue_id}] is illegal, topic:[{header.topic}] "
            f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[/{call.peer.address}]",
        )
    return topic


def _wanted(broker: Broker, header: PullMessageRequestHeader, group: SubscriptionGroupConfig) -> Wanted:
    """What passes: as the header says, or as the group's last heartbeat said."""
    if header.sys_flag & FLAG_SUBSCRIPTION:
        return _wanted_by_header(broker, header)
    told = _subscription(broker, header, group)
    if not is_tag_type(told.expression_type):
        return _wanted_by_group(broker, header, told)
    everything = told.class_filter_mode or told.sub_string == ALL
    return None if everything else frozenset(told.code_set)


def _wanted_by_header(broker: Broker, header: PullMessageRequestHeader) -> Wanted:
    """The standard lets everything pass where an expression cannot be read; here the pull is refused."""
    by_tags = is_tag_type(header.expression_type)
    try:
        given = compile_subscription(
            header.topic,
            header.subscription,
            header.expression_type,
            header.sub_version,
            broker.options.max_tags_per_subscription,
        )
        if by_tags:
            return given.accepted_codes
        _check_expressions(broker, header.expression_type)
        expression = compile_expression(header.subscription, header.expression_type)
    except FilterError as error:
        raise RequestError(
            ResponseCode.SUBSCRIPTION_PARSE_FAILED,
            f"parse the consumer's subscription failed{'' if by_tags else f': {error}'}",
        ) from None
    return _chosen(broker, header, expression)


def _wanted_by_group(broker: Broker, header: PullMessageRequestHeader, told: SubscriptionData) -> Wanted:
    data = broker.filters.get(header.topic, header.consumer_group)
    if data is None:
        reason = broker.filters.refusal(header.topic, header.consumer_group)
        raise RequestError(
            ResponseCode.FILTER_DATA_NOT_EXIST,
            f"The broker's consumer filter data is not exist!Your expression may be wrong! {reason}".rstrip(),
        )
    if data.client_version < header.sub_version:
        raise RequestError(
            ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest"
        )
    _check_expressions(broker, told.expression_type)
    return None if told.class_filter_mode else _chosen(broker, header, data.expression)


def _check_expressions(broker: Broker, expression_type: str | None) -> None:
    if not broker.options.enable_property_filter:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR,
            f"The broker does not support consumer to filter message by {expression_type}",
        )


def _chosen(broker: Broker, header: PullMessageRequestHeader, expression: Expression) -> Accept:
    """By the expression; retried messages by that for the topic they came from, if so configured."""
    if broker.options.filter_support_retry and header.topic.startswith(RETRY_PREFIX):
        return partial(broker.filters.matches_retried, header.consumer_group)
    return expression.matches


def _subscription(
    broker: Broker, header: PullMessageRequestHeader, group: SubscriptionGroupConfig
) -> SubscriptionData:
    """What a connected group subscribes to in the topic, once it may read it."""
    name = header.consumer_group
    members = broker.clients.consumer_group(name)
    if members is None:
        raise RequestError(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{FAQ}")
    if not group.consume_broadcast_enable and members.message_model == BROADCASTING:
        raise _forbidden(
            BROADCASTING_DISABLE_FORBIDDEN, f"the consumer group[{name}] can not consume by broadcast way"
        )
    if broker.groups.is_read_forbidden(name, header.topic):
        raise _forbidden(
            SUBSCRIPTION_FORBIDDEN, f"the consumer group[{name}] is forbidden for topic[{header.topic}]"
        )
    subscription = members.subscriptions.get(header.topic)
    if subscription is None:
        raise RequestError(ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{FAQ}")
    if subscription.sub_version < header.sub_version:
        raise RequestError(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
    return subscription


def _check_pull_consumer(broker: Broker, call: Call, header: PullMessageRequestHeader) -> None:
    """With `rejectPullConsumerEnable` only members of a known group may pull on their own account."""
    name = header.consumer_group
    members = broker.clients.consumer_group(name)
    if members is not None and (members.consume_type != "CONSUME_ACTIVELY" or call.peer in members.clients):
        return
    if not is_system_group(name):
        raise RequestError(
            ResponseCode.SUBSCRIPTION_NOT_EXIST,
            f"the consumer's group info not exist, or the pull consumer is rejected by server.{FAQ}",
        )


def _read(
    broker: Broker,
    header: PullMessageRequestHeader,
    wanted: Wanted,
    reader: ClientKey | None,
    may_wait: bool,
) -> GetResult:
    """What the store has, or where an administrator has reset the group to.

    A broadcasting client is sent to its last offset when it comes by another road than before.
    """
    topic, queue_id = _place(header)
    reset = broker.offsets.take_reset(header.consumer_group, topic, queue_id)
    if reset is None or not broker.options.use_server_side_reset_offset:
        reset = UNKNOWN if reader is None else broadcast_beginning(broker, reader, header)
    if reset > UNKNOWN:
        store = broker.store
        return GetResult(
            GetStatus.OFFSET_RESET,
            reset,
            store.min_offset(topic, queue_id),
            store.max_offset(topic, queue_id),
        )
    return broker.store.get(
        topic, queue_id, header.queue_offset, header.max_msg_nums, accept=wanted, may_wait=may_wait
    )


def _place(header: PullMessageRequestHeader) -> tuple[str, int]:
    """The queue that is read: that of a lite topic if one is named."""
    if header.lite_topic:
        return light_queue(header.topic, header.lite_topic), 0
    return header.topic, header.queue_id


def _wait(
    broker: Broker, call: Call, header: PullMessageRequestHeader, wanted: Wanted
) -> Deferred[Reply] | None:
    """Park the pull until there is more; None when there is no room, and it must be answered now."""
    options = broker.options
    wait = header.suspend_timeout_millis if options.long_polling_enable else options.short_polling_time_mills
    return _park(broker, call, header, wanted, header.queue_offset, wait)


def _put_off(broker: Broker, call: Call, header: PullMessageRequestHeader) -> Deferred[Reply] | None:
    """Park a pull of old data for a while, whatever arrives."""
    return _park(broker, call, header, None, NEVER_PASSED, HOLD_MILLIS)


def _park(
    broker: Broker, call: Call, header: PullMessageRequestHeader, wanted: Wanted, offset: int, wait: int
) -> Deferred[Reply] | None:
    waiting: Deferred[Reply] = Deferred(lambda _: broker.holds.forget(held))

    def resume() -> None:
        try:
            reply, _ = _pull(broker, call, header, is_first=False)
        except Exception:
            waiting.errback()
        else:
            waiting.callback(reply)

    held = HeldPull(
        call.peer,
        *_place(header),
        offset,
        wanted,
        elapsed_millis(broker.clock) + wait,
        resume,
    )
    return waiting if broker.holds.hold(held) else None


def _answer(
    broker: Broker, code: int, result: GetResult, topic: TopicConfig, group: SubscriptionGroupConfig
) -> Reply:
    return Reply(
        code,
        body=result.body,
        remark=result.status.name,
        ext={
            "suggestWhichBrokerId": str(_suggested_broker(broker, result, group)),
            "nextBeginOffset": str(result.next_offset),
            "minOffset": str(result.min_offset),
            "maxOffset": str(result.max_offset),
            "topicSysFlag": str(topic.topic_sys_flag),
            "groupSysFlag": str(group.group_sys_flag),
        },
    )


def _suggested_broker(broker: Broker, result: GetResult, group: SubscriptionGroupConfig) -> int:
    """Whom to ask next: a slave when the group is far behind and slaves may be read.

    Not from within a container, whose machines are as busy as one another: there each has masters and slaves.
    """
    options = broker.options
    if not options.slave_read_enable or options.in_broker_container:
        return MASTER_ID
    return group.which_broker_when_consume_slowly if result.suggest_slave else group.broker_id


def _forbidden(kind: int, remark: str) -> RequestError:
    return RequestError(ResponseCode.NO_PERMISSION, remark, ext={"forbiddenType": str(kind)})
