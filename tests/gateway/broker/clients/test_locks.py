"""Queue locks: one owner at a time, for sixty seconds from the last renewal."""

import pytest

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.clients.locks import LOCK_LIFE_MILLIS, ORPHAN_LIFE_MILLIS, QueueLocks
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue

NOW = 1_000_000
Q0, Q1 = MessageQueue("T", "b", 0), MessageQueue("T", "b", 1)


@pytest.fixture
def locks() -> QueueLocks:
    return QueueLocks(BrokerOptions())


def test_a_free_queue_is_locked(locks: QueueLocks) -> None:
    assert locks.lock("G", "one", [Q0, Q1], NOW) == [Q0, Q1]


def test_other_client_is_excluded(locks: QueueLocks) -> None:
    locks.lock("G", "one", [Q0], NOW)
    assert locks.lock("G", "two", [Q0, Q1], NOW + 1) == [Q1]


def test_locks_of_groups_are_independent(locks: QueueLocks) -> None:
    locks.lock("G", "one", [Q0], NOW)
    assert locks.lock("H", "two", [Q0], NOW) == [Q0]


def test_a_lock_lives_sixty_seconds_from_its_renewal(locks: QueueLocks) -> None:
    locks.lock("G", "one", [Q0], NOW)
    locks.lock("G", "one", [Q0], NOW + LOCK_LIFE_MILLIS)
    assert locks.lock("G", "two", [Q0], NOW + 2 * LOCK_LIFE_MILLIS) == []
    assert locks.lock("G", "two", [Q0], NOW + 2 * LOCK_LIFE_MILLIS + 1) == [Q0]


def test_only_the_owner_unlocks(locks: QueueLocks) -> None:
    locks.lock("G", "one", [Q0], NOW)
    locks.unlock("G", "two", [Q0])
    assert locks.lock("G", "two", [Q0], NOW) == []
    locks.unlock("G", "one", [Q0, Q0, Q1])
    assert locks.lock("G", "two", [Q0], NOW) == [Q0]


def test_client_that_leaves_releases_its_locks(locks: QueueLocks) -> None:
    locks.lock("G", "one", [Q0, Q1], NOW)
    locks.release_client("G", "one")
    assert locks.lock("G", "two", [Q0, Q1], NOW) == [Q0, Q1]


def test_lost_client_keeps_its_lock_while_it_may_work(locks: QueueLocks) -> None:
    """Its own certainty ends thirty seconds after it renewed the lock; what others hold is left alone."""
    locks.lock("G", "one", [Q0], NOW)
    locks.lock("G", "two", [Q1], NOW)
    locks.orphan("G", "one")
    locks.orphan("H", "one")
    assert locks.lock("G", "three", [Q0, Q1], NOW + ORPHAN_LIFE_MILLIS) == []
    assert locks.lock("G", "three", [Q0, Q1], NOW + ORPHAN_LIFE_MILLIS + 1) == [Q0]


def test_reconnected_client_keeps_its_lock(locks: QueueLocks) -> None:
    locks.lock("G", "one", [Q0], NOW)
    locks.orphan("G", "one")
    assert locks.lock("G", "one", [Q0], NOW + 20_000) == [Q0]
    assert locks.lock("G", "two", [Q0], NOW + 20_000 + LOCK_LIFE_MILLIS) == []


def test_a_group_consumes_in_order_while_a_lock_lives(locks: QueueLocks) -> None:
    assert not locks.any_live("G", NOW)
    locks.lock("G", "one", [Q0], NOW)
    assert locks.any_live("G", NOW + LOCK_LIFE_MILLIS)
    assert not locks.any_live("G", NOW + LOCK_LIFE_MILLIS + 1)


def test_expired_locks_are_removed(locks: QueueLocks) -> None:
    locks.lock("G", "one", [Q0], NOW)
    locks.lock("G", "two", [Q1], NOW + 10_000)
    locks.expire(NOW + LOCK_LIFE_MILLIS + 1)
    assert list(locks._groups["G"]) == [Q1]
    locks.expire(NOW + 2 * LOCK_LIFE_MILLIS)
    assert locks._groups == {}


def test_locks_of_a_group_are_limited() -> None:
    locks = QueueLocks(BrokerOptions(max_queue_locks_per_group=1))
    assert locks.lock("G", "one", [Q0, Q1], NOW) == [Q0]


def test_groups_with_locks_are_limited() -> None:
    locks = QueueLocks(BrokerOptions(max_groups_online=1))
    locks.lock("G", "one", [Q0], NOW)
    assert locks.lock("H", "one", [Q0], NOW) == []
