"""Samples of the messages that a group has not consumed, compared with the tags of its filter; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqgateway.gateway.codec.bodies import SubscriptionData
from mqgateway.gateway.doctor.evidence import ConsumedQueue, Sample

SAMPLED_QUEUES, SAMPLED_MESSAGES = 8, 32
"""Queues of a topic, and messages of each, that are compared with the filter."""
_TAG = (None, "", "TAG")


class TopicSampler:
    """Chooses the queues of a topic to sample. Filters that need whole messages are not compared."""

    def __init__(self, wanted: SubscriptionData | None) -> None:
        is_by_tags = wanted is not None and wanted.expression_type in _TAG
        self._codes = frozenset(wanted.code_set if wanted is not None and is_by_tags else ())
        self._queues_left = SAMPLED_QUEUES

    def offset_in(self, queue: ConsumedQueue) -> int | None:
        """Return the offset from which to read `SAMPLED_MESSAGES` messages of a queue; None for no sample."""
        if not self._codes or not self._queues_left or not queue.behind:
            return None
        return max(queue.consumed, queue.least)

    def compared(self, queue: ConsumedQueue, tag_codes: Sequence[int]) -> ConsumedQueue:
        """Return the queue with a sample, given the hash codes of the tags of its next messages."""
        self._queues_left -= 1
        matched = sum(one in self._codes for one in tag_codes)
        return replace(queue, sample=Sample(len(tag_codes), matched))
