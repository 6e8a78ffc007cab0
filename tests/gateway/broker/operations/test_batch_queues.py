"""Queues with record batches: their ends, and failures of writes."""

from __future__ import annotations

import pytest

from mqgateway.engine.store.results import PutStatus
from mqgateway.gateway.broker.errors import Reason
from mqgateway.gateway.broker.operations.batch_queues import BatchTooLarge, Ends, failure


def test_readers_of_committed_records_end_at_the_last_stable_offset() -> None:
    ends = Ends(1, 9, 5)
    assert (ends.of(is_committed=True), ends.of(is_committed=False)) == (5, 9)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (PutStatus.SERVICE_NOT_AVAILABLE, Reason.SERVICE_NOT_AVAILABLE),
        (PutStatus.SLAVE_NOT_AVAILABLE, Reason.SLAVE_NOT_AVAILABLE),
        (PutStatus.FLUSH_SLAVE_TIMEOUT, Reason.SLAVE_NOT_AVAILABLE),
        (PutStatus.FLUSH_DISK_TIMEOUT, Reason.SYSTEM_BUSY),
        (PutStatus.PROPERTIES_SIZE_EXCEEDED, Reason.PROPERTIES_TOO_LARGE),
    ],
)
def test_failed_write_has_its_reason(status: PutStatus, reason: Reason) -> None:
    assert failure(status, "why").reason is reason


def test_illegal_batch_is_too_large() -> None:
    assert isinstance(failure(PutStatus.MESSAGE_ILLEGAL, "why"), BatchTooLarge)
