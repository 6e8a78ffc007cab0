"""Pulls through operations: found at once, waited for, mapped."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations import Fetch, Operations, PullOutcome, PullStatus, Use
from tests.support.gateway.broker.clusters import BLOCK, TOPIC, Cluster
from tests.support.gateway.broker.helpers import split_records
from tests.support.gateway.broker.operating import InlineRunner, OperatedBroker, principal
from tests.support.gateway.broker.producing import outcome_of


def fetch(offset: int, topic: str = "T", wait: int = 5000) -> Fetch:
    return Fetch("G", topic, 0, offset, 32, wait, "*", "TAG")


def bodies(outcome: PullOutcome) -> list[bytes]:
    return [message.body for message in split_records(outcome.body)]


def test_pull_returns_stored_messages() -> None:
    operated = OperatedBroker()
    operated.send(b"a")
    operated.send(b"b")
    found = outcome_of(operated.operations.consume.pull(operated.permit(Use.PULL), fetch(1)))
    assert (found.status, bodies(found), found.next_offset) == (PullStatus.FOUND, [b"b"], 2)


def test_pull_at_the_end_waits_for_the_next_message() -> None:
    operated = OperatedBroker()
    waiting = operated.operations.consume.pull(operated.permit(Use.PULL), fetch(0))
    assert isinstance(waiting, Deferred) and not waiting.called
    arrived: list[PullOutcome] = []
    waiting.addCallback(arrived.append)
    operated.send(b"a")
    assert [bodies(one) for one in arrived] == [[b"a"]]


def test_pull_from_a_moved_queue_is_mapped() -> None:
    brokers = Cluster("a", "b")
    brokers.create("a")
    brokers.fill("a", b"old")
    brokers.move(0, "b")
    brokers.move(0, "a")
    brokers.fill("a", b"new")
    broker = brokers["a"].broker
    broker.tables.groups.put(SubscriptionGroupConfig("G"))
    operations = Operations(broker, InlineRunner(brokers["a"]))
    permit = operations.gate.admit(principal(brokers["a"].consumer), Use.PULL)
    found = outcome_of(operations.consume.pull(permit, fetch(2 * BLOCK, TOPIC)))
    assert (found.status, bodies(found), found.next_offset) == (PullStatus.FOUND, [b"new"], 2 * BLOCK + 1)
