"""Operations over a broker in memory."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred, execute

from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.operations import Principal
from tests.support.gateway.broker.helpers import FakePeer, MemoryBroker

T = TypeVar("T")


class InlineRunner:
    """Runs each cooperative task of a broker at once, a turn a step."""

    def __init__(self, memory: MemoryBroker) -> None:
        self._memory = memory

    def run(self, lane: str, steps: Steps[T | Deferred[T]]) -> Deferred[T]:
        """As `Runner`."""
        outcome: Deferred[T] = execute(self._memory.in_turns, steps)
        return outcome


def principal(peer: FakePeer | None = None) -> Principal:
    """A principal whom the front end authenticated."""
    return Principal(FakePeer() if peer is None else peer, None)
