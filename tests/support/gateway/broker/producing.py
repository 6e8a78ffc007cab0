"""Messages as front ends pass them on, and outcomes."""

from __future__ import annotations

from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.new_message import NewMessage

T = TypeVar("T")


def new_message(topic: str = "T", body: bytes = b"x", **fields: Any) -> NewMessage:
    """Return a message of a producer, with these fields instead of the usual ones."""
    usual: dict[str, Any] = {
        "producer_group": "PG",
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": 0,
        "born_timestamp": 1_699_999_999_000,
        "properties": {"UNIQ_KEY": "K1"},
    }
    return NewMessage(topic, body, **usual | fields)


def with_properties(topic: str = "T", **properties: str) -> NewMessage:
    """Return a message with these properties."""
    return new_message(topic, properties=properties)


def outcome_of(outcome: T | Deferred[T]) -> T:
    """Return an outcome that must already be available."""
    assert not isinstance(outcome, Deferred), "it waits"
    return outcome


def later(outcome: T | Deferred[T]) -> list[T]:
    """Return a list that receives a pending outcome."""
    assert isinstance(outcome, Deferred), "it does not wait"
    arrived: list[T] = []
    outcome.addCallback(arrived.append)
    return arrived
