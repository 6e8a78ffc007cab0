"""Pulls of old data: counted, and slowed down where a group reads too much of it.

A push consumer is refused, so that it comes again later; one that pulls by itself waits, and is then given
one message at a time. Standard: `PullMessageProcessor.processRequest`, `ColdDataPullRequestHoldService`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.engine.store.message_store import GetResult
from mqgateway.gateway.broker.clients.table import CONSUME_PASSIVELY
from mqgateway.gateway.broker.consume.pull_request import PullRequest
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

HOLD_MILLIS = 3000
"""How long a pull of old data is put off."""
COLD = "cold data"
"""The cause under which such refusals are counted."""


class PutOff(Exception):
    """The pull is of old data, its group reads too much of it, and it can wait."""


def most_messages(broker: Broker, request: PullRequest, *, is_first: bool, may_wait: bool) -> int:
    """How many messages a pull may be given: one of old data is put off first (`PutOff`), and then gets one.

    Raises `OperationError` for one that comes again by itself, and `ColdRead`.
    """
    cold_reads, group = broker.consume.cold_reads, request.consumer_group
    if not cold_reads.is_too_much(group) or not _is_cold(broker, request, may_wait):
        return request.max_msg_nums
    members = broker.clients.consumer_group(group)
    if members is not None and members.consume_type == CONSUME_PASSIVELY:
        broker.flow_control.count(COLD, group)
        raise OperationError(
            Reason.SYSTEM_BUSY, "This consumer group is reading cold data. It has been flow control"
        )
    if is_first:
        raise PutOff
    return 1


def count_cold(broker: Broker, group: str, result: GetResult, was_brought: bool) -> None:
    """Count what a pull has found, if it is cold.

    With `coldDataScanEnable` only what had to be brought from the disk counts.
    """
    if broker.consume.cold_reads.is_cold(result.behind) and (
        was_brought or not broker.store_options.cold_data_scan_enable
    ):
        broker.consume.cold_reads.read(group, result.size)


def _is_cold(broker: Broker, request: PullRequest, may_wait: bool) -> bool:
    units = broker.store.consume_queue_units(
        request.topic, request.queue_id, request.queue_offset, 1, may_wait=may_wait
    )
    return bool(units) and broker.consume.cold_reads.is_cold(broker.store.max_physical_offset - units[0][0])
