"""A master and the set of those in sync."""

from __future__ import annotations

from tests.support.gateway.broker.controlled import BrokerSet


def test_joining_slave_is_in_sync_within_seconds() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    slave.kill()
    brokers.wait(1)
    assert master.in_sync == {1}
    slave.again()
    brokers.wait(3)
    assert master.in_sync == {1, 2}


def test_learner_is_never_in_sync() -> None:
    brokers = BrokerSet()
    master, _ = brokers.pair()
    third = brokers.join(3, async_learner=True)
    master.send(2)
    brokers.wait(6)
    assert master.in_sync == {1, 2}
    assert len(third.bodies()) == 2


def test_lost_answer_is_recovered() -> None:
    """The controller has agreed, and its answer was lost: the set is queried, and no replica is dropped
    meanwhile."""
    brokers = BrokerSet()
    master = brokers.join(1)
    master.create("T")
    ask = master.controlled.controllers._ask
    lost = []

    def lose_answers(address, command, timeout=3.0):  # type: ignore[no-untyped-def]
        answer = ask(address, command, timeout)
        if command.code == 1001 and not lost:
            lost.append(command)
            return answer.addCallback(lambda _: (_ for _ in ()).throw(OSError("lost")))
        return answer

    master.controlled.controllers._ask = lose_answers
    brokers.join(2)
    assert lost
    assert master.in_sync == {1, 2}
    master.send(1)


def test_minimum_in_sync_number_is_kept() -> None:
    brokers = BrokerSet(min_in_sync_replicas=2)
    master = brokers.join(1)
    master.create("T")
    assert master.try_to_send() == 1
    slave = brokers.join(2)
    assert master.try_to_send() == 0
    slave.kill()
    brokers.wait(2)
    assert master.try_to_send() == 1


def test_replica_joins_the_set_under_load() -> None:
    brokers = BrokerSet()
    master = brokers.join(1)
    master.create("T")
    master.send(50, body=bytes(500))
    brokers.join(2)
    for _ in range(20):
        master.send(3)
        if master.in_sync == {1, 2}:
            break
    assert master.in_sync == {1, 2}
