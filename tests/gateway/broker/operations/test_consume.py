"""Pulls through operations: found at once, waited for, mapped."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.operations import Operations, PullOutcome, PullOutcomeStatus, PullRequest, Use
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from tests.support.gateway.broker.clusters import BLOCK, TOPIC, Cluster
from tests.support.gateway.broker.helpers import split_records
from tests.support.gateway.broker.operating import InlineRunner, OperatedBroker, principal
from tests.support.gateway.broker.producing import outcome_of


def fetch(offset: int, topic: str = "T", wait: int = 5000) -> PullRequest:
    return PullRequest("G", topic, 0, offset, 32, wait, "*", "TAG")


def bodies(outcome: PullOutcome) -> list[bytes]:
    return [message.body for message in split_records(outcome.body)]


def test_pull_returns_stored_messages() -> None:
    operated = OperatedBroker()
    operated.send(b"a")
    operated.send(b"b")
    found = outcome_of(operated.operations.consume.pull(operated.permit(Use.PULL), fetch(1)))
    assert (found.status, bodies(found), found.next_offset) == (PullOutcomeStatus.FOUND, [b"b"], 2)


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
    assert (found.status, bodies(found), found.next_offset) == (
        PullOutcomeStatus.FOUND,
        [b"new"],
        2 * BLOCK + 1,
    )


@pytest.mark.parametrize(
    ("kind", "committed"), [(RoleKind.MASTER, -1), (RoleKind.FENCED, -1), (RoleKind.SLAVE, 1)]
)
def test_pull_commits_its_offset_unless_the_broker_is_fenced(kind: RoleKind, committed: int) -> None:
    operated = OperatedBroker(options={"slave_read_enable": True})
    operated.send(b"a")
    permit = operated.permit(Use.PULL)
    operated.broker.role.become(kind, broker_id=1)
    operated.broker.store.gate = closed_gate(kind)
    request = PullRequest("G", "T", 0, 0, 32, None, "*", "TAG", commit_offset=1)
    assert bodies(outcome_of(operated.operations.consume.pull(permit, request))) == [b"a"]
    assert operated.broker.tables.offsets.query("G", "T", 0) == committed
