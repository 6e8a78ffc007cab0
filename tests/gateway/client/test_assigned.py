"""A queue that is read, and messages that came from it together."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.client.assigned import Assigned, InHand, PulledBatch
from mqgateway.gateway.client.process_queue import ProcessQueue
from tests.support.gateway.client.cluster import queue_of


def test_batch_is_current_until_its_queue_is_dropped_or_read_from_elsewhere() -> None:
    assigned = Assigned(queue_of("T"), ProcessQueue(0))
    batch = PulledBatch(assigned, assigned.round, [])
    assert batch.is_current()
    assigned.round += 1
    assert not batch.is_current() and PulledBatch(assigned, assigned.round, []).is_current()
    assigned.process.dropped = True
    assert not PulledBatch(assigned, assigned.round, []).is_current()


def test_rest_of_a_batch_in_hand_is_given_next() -> None:
    messages: Any = [1, 2, 3]
    in_hand = InHand()
    assert in_hand.rest() is None and list(in_hand.newly_done()) == []
    batch = PulledBatch(Assigned(queue_of("T"), ProcessQueue(0)), 0, messages)
    loop = iter(in_hand.begin(batch))
    next(loop)
    next(loop)
    assert list(in_hand.newly_done()) == [1] and in_hand.batch is batch
    rest = in_hand.rest()
    assert rest is not None and rest.messages == [3] and in_hand.rest() is None


def test_batch_of_a_queue_read_from_elsewhere_is_forgotten() -> None:
    messages: Any = [1, 2]
    in_hand, assigned = InHand(), Assigned(queue_of("T"), ProcessQueue(0))
    hand = in_hand.begin(PulledBatch(assigned, 0, messages))
    next(iter(hand))
    hand.settle()
    assigned.round += 1
    assert list(in_hand.newly_done()) == [] and in_hand.rest() is None
