"""The services that sessions share."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.kafka.sasl.authentication import Authentication, has_sasl
from tests.support.gateway.kafka.broker import KafkaBroker


def authentication(pause: Any, **settings: Any) -> Authentication:
    """Return the authentication of a broker."""
    dispatcher: Any = None
    operations = KafkaBroker(**settings).operations
    return Authentication(operations, dispatcher, seconds=lambda: 0.0, pause=pause)


def test_clients_have_to_authenticate_with_authentication_on() -> None:
    assert not has_sasl(BrokerOptions()) and has_sasl(BrokerOptions(authentication_enabled=True))


def test_a_refusal_waits_for_the_delay_and_the_throttle() -> None:
    waits: list[Deferred[None]] = []

    def pause(seconds: float) -> Deferred[None]:
        assert seconds == 0.1
        waits.append(Deferred())
        return waits[-1]

    terms, sent = authentication(pause), list[str]()
    throttle: Deferred[None] = Deferred()
    terms.refusal_delay(None).addCallback(lambda _: sent.append("late"))
    terms.refusal_delay(throttle).addCallback(lambda _: sent.append("later"))
    assert sent == []
    for wait in waits:
        wait.callback(None)
    assert sent == ["late"]
    throttle.callback(None)
    assert sent == ["late", "later"]
