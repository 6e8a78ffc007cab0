"""A queue that is read, and messages that came from it together."""

from __future__ import annotations

from mqgateway.gateway.client.assigned import Assigned, Batch
from mqgateway.gateway.client.process_queue import ProcessQueue
from tests.support.gateway.client.cluster import queue_of


def test_batch_is_current_until_its_queue_is_dropped_or_read_from_elsewhere() -> None:
    assigned = Assigned(queue_of("T"), ProcessQueue(0))
    batch = Batch(assigned, assigned.round, [])
    assert batch.is_current()
    assigned.round += 1
    assert not batch.is_current() and Batch(assigned, assigned.round, []).is_current()
    assigned.process.dropped = True
    assert not Batch(assigned, assigned.round, []).is_current()
