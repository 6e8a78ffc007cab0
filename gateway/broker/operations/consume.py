"""Pulls: messages of a queue from an offset on."""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.pull import pull as pull_here
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullRequest
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.static_topics.messages import pull

_PULL: Final = Use.PULL


class Consume:
    """Pulls from one broker, from queues that are its own or are mapped (static topics)."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def pull(
        self, permit: Permit, request: PullRequest, *, is_mapped: bool = True
    ) -> PullOutcome | Deferred[PullOutcome]:
        """Return messages, or wait for them; cancel the Deferred to end the wait. Raises `OperationError`.

        If the broker is fenced, no offset is committed. Without `is_mapped` the queue is one of this broker,
        whatever its topic is mapped to: brokers ask each other so.
        """
        gate = self._gate
        gate.enter(permit, _PULL)
        if request.commit_offset >= 0 and not gate.may_leave_trace():
            request.commit_offset = -1
        if is_mapped:
            return pull(self._broker, request, permit.connection)
        return pull_here(self._broker, request, permit.connection)
