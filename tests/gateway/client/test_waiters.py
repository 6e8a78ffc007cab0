"""Calls that wait for messages."""

from __future__ import annotations

from mqgateway.gateway.client.waiters import Waiters
from tests.support.gateway.client.cluster import Cluster


def test_waiting_ends_when_it_is_woken_or_time_is_up() -> None:
    with Cluster() as cluster:
        waiters = Waiters(cluster.client().schedule)
        first, second, third = waiters.wait(50), waiters.wait(1), waiters.wait(50)
        waiters.wake_one()
        assert (first.called, second.called, third.called) == (True, False, False)
        cluster.settle(2.0)
        assert second.called and not third.called
        waiters.wake_all()
        assert third.called
        waiters.wake_one()
