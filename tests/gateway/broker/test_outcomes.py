"""Changing outcomes that may not be there yet."""

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.outcomes import then


def test_outcome_is_changed_at_once_or_when_it_arrives() -> None:
    assert then(3, str) == "3"
    later: Deferred[int] = Deferred()
    changed, seen = then(later, str), list[str]()
    assert isinstance(changed, Deferred)
    changed.addCallback(seen.append)
    assert seen == []
    later.callback(4)
    assert seen == ["4"]
