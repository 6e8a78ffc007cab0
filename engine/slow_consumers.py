"""Slow consumers: groups with such a lag that their reads come from the disk.

A queue is recorded only if its lag at the last pull exceeds `consumerFallbehindThreshold`. With
`disableConsumeIfConsumerReadSlowly` consumption of such groups is disabled every few minutes, for an
administrator to examine. RocketMQ: `BrokerController.protectBroker`.
"""

import logging

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.groups import GroupTable

log = logging.getLogger(__name__)

PROTECT_SECONDS = 180.0
"""Interval of `shut_out`."""


class SlowConsumers:
    """Lags of slow consumers; `maxOffsets` bounds the number of queues."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._behind: dict[tuple[str, str, int], int] = {}

    def __len__(self) -> int:
        return len(self._behind)

    def note(self, group: str, topic: str, queue_id: int, behind: int) -> None:
        """Record the lag of a group, in bytes behind the log's end."""
        key = group, topic, queue_id
        if behind <= self._options.consumer_fallbehind_threshold:
            self._behind.pop(key, None)
        elif key in self._behind or len(self._behind) < self._options.max_offsets:
            self._behind[key] = behind

    def shut_out(self, groups: GroupTable) -> None:
        """Disable consumption of slow groups, and log each."""
        behind, self._behind = self._behind, {}
        if not self._options.disable_consume_if_consumer_read_slowly:
            return
        for (group, topic, queue_id), size in behind.items():
            known = groups.get(group)
            if known is not None and known.consume_enable:
                log.warning(
                    "consumption of group %s is disabled (consumeEnable=false): its lag is %d bytes in "
                    "topic %s queue %d, more than consumerFallbehindThreshold",
                    group,
                    size,
                    topic,
                    queue_id,
                )
                groups.disable_consume(group)
