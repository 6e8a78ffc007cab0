"""The check before the requests of a broker under a controller."""

from __future__ import annotations

from typing import Any, cast

from mqgateway.gateway.broker.controlled.guard import AuthorityGuard
from tests.support.gateway.broker.controlled import BrokerSet


class Watched:
    """Counts the checks of its authority."""

    asked = 0

    def is_authorized(self) -> bool:
        self.asked += 1
        return False


def test_authority_is_checked_before_each_request() -> None:
    watched = Watched()
    guard = AuthorityGuard(cast(Any, watched))
    guard.before(cast(Any, None))
    assert watched.asked == 1


def test_master_in_doubt_refuses_the_request() -> None:
    brokers = BrokerSet()
    master, _ = brokers.pair()
    assert master.try_to_send() == 0
    master.controlled.authority.holds = lambda now, heard: False
    assert master.try_to_send(seconds=0) == 14
