"""Remoting requests that are translated to operations, and the context of remoting's dispatchers.

A remoting request is checked before: hooks check lease and principal, `guarded` the names in a body, the
table of all roles the role. That table also makes the permit, so nothing is checked twice.
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
    """One request of a package's table.

    `function` converts header and body to values, calls an operation, and converts the outcome to a reply.
    """

    function: Callable[[Operations, Permit, Call], Served]
    use: Use

    @property
    def needs(self) -> Needs:
        """The requirement on the broker's role."""
        return self.use.needs


class DispatchContext:
    """The context of the dispatchers: `broker` for requests that are not translated.

    It holds the gate itself, as every translated request needs it.
    """

    __slots__ = ("broker", "gate", "operations")

    def __init__(self, broker: Broker, operations: Operations) -> None:
        self.broker = broker
        self.operations = operations
        self.gate = operations.gate
