"""Sends wait until the majority has them, or it takes too long."""

from __future__ import annotations

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.ledger_log import LedgerLog
from mqgateway.engine.raft.quorum_replicas import QuorumReplicas
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.testing.crash_disk import CrashDisk


class Ends:
    """A stub of the log's end."""

    position = 1000
    min_offset = 0
    file_size = 4096


def replicas() -> QuorumReplicas:
    ledger = LedgerLog(CrashDisk(), "/dledger-n0", 4096, 0)
    return QuorumReplicas(StoreOptions(), Ends(), ledger, 2, 2500)


def test_a_send_waits_until_the_group_has_committed_it() -> None:
    waiting, statuses = replicas(), list[PutStatus]()
    need = waiting.need(0)
    waiting.wait(100, 0, need, statuses.append)
    waiting.wait(200, 0, need, statuses.append)
    waiting.ledger.committed = 150
    waiting.acknowledged()
    assert statuses == [PutStatus.PUT_OK]
    waiting.wait(120, 0, need, statuses.append)
    assert statuses == [PutStatus.PUT_OK] * 2


def test_a_send_that_waited_too_long_is_not_in_enough_logs() -> None:
    waiting, statuses = replicas(), list[PutStatus]()
    waiting.wait(100, 1000, waiting.wanted, statuses.append)
    waiting.expire(3499)
    assert statuses == []
    waiting.expire(3500)
    assert statuses == [PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH]


def test_as_many_logs_as_a_majority_are_in_sync() -> None:
    assert replicas().in_sync() == 2
