"""Throttling of groups that read too much cold data.

A push consumer is refused and pulls again later. A pull consumer is parked first, and then gets one message
at a time. RocketMQ: `PullMessageProcessor.processRequest`, `ColdDataPullRequestHoldService`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.engine.store.message_store import GetResult
from mqgateway.gateway.broker.clients.members import CONSUME_PASSIVELY
from mqgateway.gateway.broker.consume.pull_request import PullRequest
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

HOLD_MILLIS = 3000
"""Delay of a throttled pull of cold data, in ms."""
COLD = "cold data"
"""Cause under which refusals of cold pulls are counted."""


class PutOff(Exception):
    """The pull reads cold data, its group is over its limit, and the pull can be parked."""


def most_messages(broker: Broker, request: PullRequest, *, is_first: bool, may_wait: bool) -> int:
    """Return the maximum number of messages of a pull: the number requested, or 1 for a throttled pull.

    Raises `PutOff` for the first attempt of a throttled pull, `OperationError` (SYSTEM_BUSY) if its group is
    a push consumer's, and `ColdRead` unless `may_wait`.
    """
    cold_reads, group = broker.consume.cold_reads, request.group
    if not cold_reads.is_too_much(group) or not _is_cold(broker, request, may_wait):
        return request.max_messages
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
    """Count the bytes that a pull has read if they are cold.

    With `coldDataScanEnable` only bytes that were loaded from the disk (`was_brought`) count.
    """
    if broker.consume.cold_reads.is_cold(result.behind) and (
        was_brought or not broker.store_options.cold_data_scan_enable
    ):
        broker.consume.cold_reads.read(group, result.size)


def _is_cold(broker: Broker, request: PullRequest, may_wait: bool) -> bool:
    units = broker.store.consume_queue_units(
        request.topic, request.queue_id, request.offset, 1, may_wait=may_wait
    )
    return bool(units) and broker.consume.cold_reads.is_cold(broker.store.max_physical_offset - units[0][0])
