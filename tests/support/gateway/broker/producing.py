"""Messages as a door that speaks no remoting hands them over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.message import format_properties

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """A `MessageRequest` that is no header."""

    topic: str = "T"
    producer_group: str = "PG"
    default_topic: str = "TBW102"
    default_topic_queue_nums: int = 4
    queue_id: int = 0
    sys_flag: int = 0
    born_timestamp: int = 1_699_999_999_000
    flag: int = 0
    properties: str | None = format_properties({"UNIQ_KEY": "K1"})
    reconsume_times: int | None = None
    unit_mode: bool | None = None
    batch: bool | None = None
    max_reconsume_times: int | None = None


def with_properties(topic: str = "T", **properties: str) -> TypedMessage:
    """A message with these properties."""
    return TypedMessage(topic, properties=format_properties(properties))


def outcome_of(outcome: T | Deferred[T]) -> T:
    """An outcome that must be there already."""
    assert not isinstance(outcome, Deferred), "it waits"
    return outcome


def later(outcome: T | Deferred[T]) -> list[T]:
    """Where an outcome that must be waited for will be."""
    assert isinstance(outcome, Deferred), "it does not wait"
    arrived: list[T] = []
    outcome.addCallback(arrived.append)
    return arrived
