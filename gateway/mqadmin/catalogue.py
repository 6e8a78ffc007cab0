"""Catalogues: the commands of a program by name, without their declarations; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mqgateway.gateway.mqadmin.commands import PLACES, CommandEntry


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The commands of a program, of one word or two, in modules below `package`.

    `more` are commands that are listed with them and declared elsewhere. `name_servers` are the default name
    servers. `examples` are calls by command. For other commands the help derives one from the options.
    """

    program: str
    package: str
    places: Mapping[str, CommandEntry]
    more: Mapping[str, CommandEntry] = field(default_factory=dict)
    name_servers: tuple[str, ...] = ()
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def split(self, arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
        """Return the name of the typed command, and the remaining arguments."""
        pair = " ".join(arguments[:2])
        return (pair, arguments[2:]) if pair in self.places else (arguments[0], arguments[1:])


LOCAL_NAME_SERVERS = ("127.0.0.1:9876",)
"""Default name servers of both catalogues."""

MQADMIN = Catalogue("mqadmin", "mqgateway.gateway.mqadmin.commands", PLACES, name_servers=LOCAL_NAME_SERVERS)
"""RocketMQ's commands."""
