"""What a slave answers to pulls otherwise than a master.

While the master is there a reader is sent back to it with every answer, unless it is so far behind that the
slave is to serve it; a pull that finds nothing is answered at once. Without the master readers stay, and wait
for messages as they do there. An offset that the slave does not have is not corrected: the slave may only be
behind. All that with `slaveReadEnable`; without it a slave serves no pulls.
Standard: `PullMessageProcessor.rejectRequest`, `composeResponseHeader`, `DefaultPullMessageResultHandler`,
`DefaultMessageStore.nextOffsetCorrection`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.store.results import GetStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullStatus

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker


def as_slave(
    broker: Broker,
    outcome: PullOutcome,
    asked_offset: int,
    group: SubscriptionGroupConfig,
    is_far_behind: bool,
) -> None:
    """Make a master's answer to a pull from `asked_offset` a slave's."""
    if outcome.status is PullStatus.OFFSET_MOVED and not broker.store_options.offset_check_in_slave:
        outcome.status = PullStatus.RETRY_IMMEDIATELY
        outcome.suggested_broker = group.broker_id
        if outcome.found is not GetStatus.OFFSET_RESET:
            outcome.next_offset = asked_offset
    if broker.has_master and not is_far_behind:
        outcome.suggested_broker = MASTER_ID
        if outcome.status is not PullStatus.FOUND:
            outcome.status = PullStatus.RETRY_IMMEDIATELY
