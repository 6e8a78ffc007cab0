"""Remoting requests that are translated for operations, and what remoting's dispatchers are given.

A remoting request is judged on its way to here: hooks look at lease and principal, `guarded` at what a body
names, the table of all roles at the role. That table makes the permit, too, so nothing is judged twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.needs import Needs
from mqgateway.gateway.broker.operations import Operations, Permit, Use
from mqgateway.gateway.remoting.call import Call
from mqgateway.gateway.remoting.dispatch import Served


class Translated(NamedTuple):
    """One request of a room's table: `function` turns header and body into values, calls an operation, and
    turns the outcome into a reply."""

    function: Callable[[Operations, Permit, Call], Served]
    use: Use

    @property
    def needs(self) -> Needs:
        """The need of the broker's role."""
        return self.use.needs


class Context:
    """The context of the dispatchers: `broker` for requests that are not translated.

    It holds the gate itself, as every translated request needs it.
    """

    __slots__ = ("broker", "gate", "operations")

    def __init__(self, broker: Broker, operations: Operations) -> None:
        self.broker = broker
        self.operations = operations
        self.gate = operations.gate
