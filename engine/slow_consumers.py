"""Consumer groups that have fallen far behind, so that what they read has to come from the disk.

Only who is further behind than `consumerFallbehindThreshold` at its last pull is kept, queue by queue. With
`disableConsumeIfConsumerReadSlowly` such groups are shut out every few minutes, for an administrator to look
at. Standard: `BrokerController.protectBroker`.
"""

import logging

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.groups import GroupTable

log = logging.getLogger(__name__)

PROTECT_SECONDS = 180.0
"""How often `shut_out` is due."""


class SlowConsumers:
    """The groups that are behind; `maxOffsets` bounds the queues that are kept."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._behind: dict[tuple[str, str, int], int] = {}

    def __len__(self) -> int:
        return len(self._behind)

    def note(self, group: str, topic: str, queue_id: int, behind: int) -> None:
        """A group reads so many bytes behind the log's end."""
        key = group, topic, queue_id
        if behind <= self._options.consumer_fallbehind_threshold:
            self._behind.pop(key, None)
        elif key in self._behind or len(self._behind) < self._options.max_offsets:
            self._behind[key] = behind

    def shut_out(self, groups: GroupTable) -> None:
        """Let groups that are behind consume no more; one log line for each says so."""
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
