"""Transactional ids and their limits."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.transactions.rules import TxnRefused
from mqgateway.gateway.kafka.transactions.settings import TxnSettings
from mqgateway.gateway.kafka.transactions.status import TopicPartition, TxnState, TxnStatus
from mqgateway.gateway.kafka.transactions.table import TxnTable


def status(state: TxnState = TxnState.ONGOING, partitions: int = 1) -> TxnStatus:
    """Return a status with so many partitions."""
    places = frozenset(TopicPartition("a", number) for number in range(partitions))
    return TxnStatus(7, 0, 1000, state, 5, partitions=places)


def test_open_and_prepared_transactions_are_known() -> None:
    table = TxnTable(TxnSettings())
    entry = table.add("t")
    assert entry.is_busy and not table.open
    table.put(entry, status())
    assert (set(table.open), set(table.prepared), entry.is_busy) == ({"t"}, set(), False)
    table.put(entry, status(TxnState.PREPARE_ABORT))
    assert (set(table.open), set(table.prepared), entry.is_busy) == (set(), {"t"}, True)
    table.put(entry, status(TxnState.COMPLETE_ABORT))
    assert not table.open and not table.prepared
    table.discard("t")
    table.discard("t")
    assert len(table) == 0


def test_ids_have_a_limit() -> None:
    table = TxnTable(TxnSettings(ids_max=1))
    table.add("t")
    with pytest.raises(TxnRefused) as refused:
        table.add("u")
    assert refused.value.code is E.COORDINATOR_NOT_AVAILABLE
    table.restore("u", status())
    assert len(table) == 2


def test_partitions_have_a_limit_for_each_transaction_and_for_all() -> None:
    table = TxnTable(TxnSettings(partitions_max=3, all_partitions_max=5))
    first, second = table.add("t"), table.add("u")
    for count in (4, 3):
        if count == 3:
            table.check_room(first, status(partitions=count))
            continue
        with pytest.raises(TxnRefused, match="3 partitions at most") as refused:
            table.check_room(first, status(partitions=count))
        assert refused.value.code is E.POLICY_VIOLATION
    table.put(first, status(partitions=3))
    with pytest.raises(TxnRefused, match="all transactions together have 3"):
        table.check_room(second, status(partitions=3))
    table.put(first, status(TxnState.COMPLETE_COMMIT, partitions=0))
    table.check_room(second, status(partitions=3))
    table.put(second, status(partitions=3))
    table.check_room(second, status(partitions=2))
    table.clear()
    assert not list(table)
