"""Differences between a slave's and a master's answers to pulls.

While there is a master, each answer sends the reader back to it, unless the reader lags so far that the slave
should serve it. A pull that finds nothing is then answered at once. Without a master readers stay, and may
wait for messages. An offset that the slave does not have is not corrected unless `offsetCheckInSlave` is set,
because the slave may only lag. Without `slaveReadEnable` a slave serves no pulls.
RocketMQ: `PullMessageProcessor.rejectRequest`, `composeResponseHeader`, `DefaultPullMessageResultHandler`,
`DefaultMessageStore.nextOffsetCorrection`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.store.results import GetStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullOutcomeStatus

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker


def as_slave(
    broker: Broker,
    outcome: PullOutcome,
    requested_offset: int,
    group: SubscriptionGroupConfig,
    is_far_behind: bool,
) -> None:
    """Change a master's answer to a pull from `requested_offset` into a slave's."""
    if outcome.status is PullOutcomeStatus.OFFSET_MOVED and not broker.store_options.offset_check_in_slave:
        outcome.status = PullOutcomeStatus.RETRY_IMMEDIATELY
        outcome.suggested_broker = group.broker_id
        if outcome.found is not GetStatus.OFFSET_RESET:
            outcome.next_offset = requested_offset
    if broker.has_master and not is_far_behind:
        outcome.suggested_broker = MASTER_ID
        if outcome.status is not PullOutcomeStatus.FOUND:
            outcome.status = PullOutcomeStatus.RETRY_IMMEDIATELY
