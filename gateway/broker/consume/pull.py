"""Pulls: the stored records from a queue offset on.

`pull` checks broker, group, topic and queue. It finds the subscription (of the last heartbeat, or of the
request), reads, commits the offset in the request, and answers. A pull that found nothing and may wait is
parked in `long_polling`. When it is woken or its time is up, it is processed once more and does not wait
again. So is a pull that was put off because its group reads too much cold data. If messages are not in
memory, a worker loads them, and the pull is processed again from the start. A slave serves pulls if
`slaveReadEnable` is set, and sends its readers back to the master (`slave_pulls`).

RocketMQ: `PullMessageProcessor`, `DefaultPullMessageResultHandler`, `PullSysFlag`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.store.message_store import ColdRead, GetResult, GetStatus
from mqgateway.engine.store.results import transfer_limits
from mqgateway.engine.tables.broadcasts import UNKNOWN, ClientKey
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.cold import ROUNDS, once_brought, reading
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.cold_pulls import HOLD_MILLIS, PutOff, count_cold, most_messages
from mqgateway.gateway.broker.consume.initial_offset import (
    broadcast_beginning,
    broadcast_reader,
    note_broadcast,
)
from mqgateway.gateway.broker.consume.long_polling import HeldPull, Wanted
from mqgateway.gateway.broker.consume.pull_checks import (
    check_pull_consumer,
    checked_group,
    checked_queue,
    wanted_by,
)
from mqgateway.gateway.broker.consume.pull_request import (
    PullOutcome,
    PullOutcomeStatus,
    PullRequest,
)
from mqgateway.gateway.broker.consume.slave_pulls import as_slave
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.runtime.outcomes import resolve

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

NEVER_PASSED: Final = 2**62
"""Offset of a parked pull that only its deadline wakes."""
REJECTED: Final = "[REJECTREQUEST]system busy, start flow control for a while"
"""Message of a slave that serves no pulls."""

SHOWS_DISTANCE: Final = (GetStatus.FOUND, GetStatus.OFFSET_OVERFLOW_ONE)
"""Statuses of reads that show the lag of a group."""

# A look-up in an enumeration costs more than the rest of a check.
READ_FOUND: Final = GetStatus.FOUND
FOUND: Final = PullOutcomeStatus.FOUND
NOT_FOUND: Final = PullOutcomeStatus.NOT_FOUND
OFFSET_MOVED: Final = PullOutcomeStatus.OFFSET_MOVED
STATUS_OF: Final[dict[GetStatus, PullOutcomeStatus]] = {
    GetStatus.NO_MATCHED_MESSAGE: PullOutcomeStatus.RETRY_IMMEDIATELY,
    GetStatus.MESSAGE_WAS_REMOVING: PullOutcomeStatus.RETRY_IMMEDIATELY,
    GetStatus.OFFSET_TOO_SMALL: PullOutcomeStatus.OFFSET_MOVED,
    GetStatus.OFFSET_OVERFLOW_ONE: PullOutcomeStatus.NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_BADLY: PullOutcomeStatus.OFFSET_MOVED,
    GetStatus.OFFSET_FOUND_NULL: PullOutcomeStatus.NOT_FOUND,
    GetStatus.OFFSET_RESET: PullOutcomeStatus.OFFSET_MOVED,
}
"""Answers to reads that found nothing. For the two statuses of an empty queue the offset decides."""


def pull(
    broker: Broker, request: PullRequest, connection: ClientConnection
) -> PullOutcome | Deferred[PullOutcome]:
    """Return the records from an offset on, as soon as there are any or the client's time is up.

    Raises `OperationError`, including `PullForbidden`.
    """
    try:
        return _pull_or_wait(broker, request, connection, ROUNDS)
    except ColdRead as cold:
        attempt = partial(_pull_or_wait, broker, request, connection)
        return once_brought(broker, cold, attempt, ROUNDS - 1)


def _pull_or_wait(
    broker: Broker, request: PullRequest, connection: ClientConnection, rounds: int
) -> PullOutcome | Deferred[PullOutcome]:
    if broker.role.is_slave and not broker.options.slave_read_enable:
        raise OperationError(Reason.SYSTEM_BUSY, REJECTED)
    try:
        outcome, wanted = _pull(broker, request, connection, True, rounds)
    except PutOff:
        waiting = _park(broker, request, connection, None, NEVER_PASSED, HOLD_MILLIS)
        return waiting or _pull_again(broker, request, connection)
    if outcome.status is NOT_FOUND and request.max_wait is not None:
        options = broker.options
        enabled = options.long_polling_enable
        millis = request.max_wait if enabled else options.short_polling_time_mills
        return _park(broker, request, connection, wanted, request.offset, millis) or outcome
    return outcome


def _pull_again(
    broker: Broker, request: PullRequest, connection: ClientConnection
) -> PullOutcome | Deferred[PullOutcome]:
    """Process a pull that does not wait again."""

    def attempt(rounds: int) -> PullOutcome:
        return _pull(broker, request, connection, False, rounds)[0]

    return reading(broker, attempt)


def _pull(
    broker: Broker,
    request: PullRequest,
    connection: ClientConnection,
    is_first: bool,
    rounds: int,
) -> tuple[PullOutcome, Wanted]:
    """Read once, and return the outcome and the filter.

    The offset in the request is committed only if `is_first`, because it becomes stale while the pull waits.
    Raises `ColdRead` while messages may still be loaded from the disk (`rounds`), and `PutOff`.
    """
    group = checked_group(broker, request)
    topic = checked_queue(broker, request, connection)
    wanted = wanted_by(broker, request, group)
    if broker.options.reject_pull_consumer_enable:
        check_pull_consumer(broker, request, connection)
    is_watched, most = broker.consume.cold_reads.is_watched, request.max_messages
    if is_watched:
        most = most_messages(broker, request, is_first=is_first, may_wait=not rounds)
    reader = broadcast_reader(broker, connection, request)
    result = _read(broker, request, most, wanted, reader, not rounds)
    offsets = broker.tables.offsets
    offsets.commit_pull(request.group, request.topic, request.queue_id, result.next_offset, request.offset)
    if is_first and request.commit_offset >= 0:
        offsets.commit(request.group, request.topic, request.queue_id, request.commit_offset)
    if result.status is READ_FOUND:
        status = FOUND
        broker.stats.got(request.group, request.topic, result.count, result.size)
        if is_watched:
            count_cold(broker, request.group, result, rounds < ROUNDS)
    else:
        status = STATUS_OF.get(result.status, OFFSET_MOVED if request.offset else NOT_FOUND)
    if broker.options.disable_consume_if_consumer_read_slowly and result.status in SHOWS_DISTANCE:
        broker.consume.slow_consumers.note(request.group, request.topic, request.queue_id, result.behind)
    if reader is not None:
        note_broadcast(broker, reader, request, status, result.next_offset)
    return _outcome(broker, request, status, result, topic, group), wanted


def _read(
    broker: Broker,
    request: PullRequest,
    most: int,
    wanted: Wanted,
    reader: ClientKey | None,
    may_wait: bool,
) -> GetResult:
    """Read from the store, or return the offset to which an administrator has reset the group.

    A broadcasting client is sent to its last offset if it starts to pull directly instead of through a proxy,
    or the reverse.
    """
    topic, queue_id = _queue(request)
    reset = broker.tables.offsets.take_reset(request.group, topic, queue_id)
    if reset is None or not broker.options.use_server_side_reset_offset:
        reset = UNKNOWN if reader is None else broadcast_beginning(broker, reader, request)
    if reset > UNKNOWN:
        store = broker.store
        return GetResult(
            GetStatus.OFFSET_RESET,
            reset,
            store.min_offset(topic, queue_id),
            store.max_offset(topic, queue_id),
        )
    limits = transfer_limits(broker.store_options)
    return broker.store.get(
        topic, queue_id, request.offset, most, accept=wanted, may_wait=may_wait, limits=limits
    )


def _queue(request: PullRequest) -> tuple[str, int]:
    """Return topic and queue id of the queue to read: the LMQ queue of the lite topic if one is named."""
    if request.lite_topic:
        return lmq_name(request.topic, request.lite_topic), 0
    return request.topic, request.queue_id


def _park(
    broker: Broker,
    request: PullRequest,
    connection: ClientConnection,
    wanted: Wanted,
    offset: int,
    millis: int,
) -> Deferred[PullOutcome] | None:
    """Park a pull until the queue passes an offset, for `millis` ms at most.

    Return None if the limits of parked pulls are reached; the pull must then be answered now.
    """
    waiting: Deferred[PullOutcome] = Deferred(lambda _: broker.consume.held_pulls.forget(held))

    def resume() -> None:
        try:
            outcome = _pull_again(broker, request, connection)
        except Exception:
            waiting.errback()
            return
        resolve(waiting, outcome)  # the client may disconnect first

    deadline = elapsed_millis(broker.clock) + millis
    is_held_back = broker.store.is_held_back
    held = HeldPull(connection, *_queue(request), offset, wanted, deadline, resume, is_held_back)
    return waiting if broker.consume.held_pulls.hold(held) else None


def _outcome(
    broker: Broker,
    request: PullRequest,
    status: PullOutcomeStatus,
    result: GetResult,
    topic: TopicConfig,
    group: SubscriptionGroupConfig,
) -> PullOutcome:
    outcome = PullOutcome(
        status,
        result.status,
        result.body,
        result.next_offset,
        result.min_offset,
        result.max_offset,
        _suggested_broker(broker, result, group),
        topic.topic_sys_flag,
        group.group_sys_flag,
    )
    if broker.role.is_slave:
        as_slave(broker, outcome, request.offset, group, result.suggest_slave)
    return outcome


def _suggested_broker(broker: Broker, result: GetResult, group: SubscriptionGroupConfig) -> int:
    """Return the id of the broker to read from next: a slave if the group lags far and slaves may be read.

    In a container it is always the master: each container runs masters and slaves, so all are equally busy.
    """
    options = broker.options
    if not options.slave_read_enable or options.in_broker_container:
        return MASTER_ID
    return group.which_broker_when_consume_slowly if result.suggest_slave else group.broker_id
