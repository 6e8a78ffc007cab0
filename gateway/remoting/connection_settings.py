"""Terms of connections: the limits and shared parts that a server's or a client's connections have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.codec.command import FIELDS_MAX, HEADER_MAX
from mqgateway.gateway.remoting.foreign import Notices
from mqgateway.gateway.remoting.long_work import LongWork
from mqgateway.gateway.remoting.pending_input import PendingInput
from mqgateway.gateway.remoting.turn import Turn
from mqgateway.gateway.runtime.loop import Clockwork

HIGH_WATER_MARK: Final = 4 * 1024 * 1024
"""Unsent bytes from which on a peer is not read, if the options give no number."""


@dataclass
class ConnectionSettings:
    """The limits and shared parts of all connections of one server or one client. Sizes are in bytes."""

    reactor: Clockwork
    frame_limit: int
    ask_limit: int
    hold_limit: int
    high_water_mark: int
    unsent_limit: int
    turn: Turn = field(default_factory=Turn)
    notices: Notices = field(default_factory=Notices)
    reads_always: bool = False  # whether the other side is read however much it leaves unread itself
    header_max: int = HEADER_MAX
    fields_max: int = FIELDS_MAX
    pending_limit: float = inf
    address_pending_limit: float = inf

    def __post_init__(self) -> None:
        self.long_work = LongWork(self.reactor, self.turn)
        self.pending = PendingInput(self.pending_limit, self.address_pending_limit, self.reactor.seconds)


def server_settings(
    options: RemotingOptions, reactor: Clockwork, after_read: Callable[[], None] | None
) -> ConnectionSettings:
    """Return the terms that the options give a server; `after_read` runs before replies to a read are
    written."""
    return ConnectionSettings(
        reactor=reactor,
        frame_limit=options.frame_max_length,
        ask_limit=options.server_async_semaphore_value,
        hold_limit=options.max_requests_in_flight,
        high_water_mark=options.write_buffer_high_water_mark or HIGH_WATER_MARK,
        unsent_limit=options.max_unsent_bytes,
        turn=Turn(after_read, reactor),
        header_max=options.max_header_size,
        fields_max=options.max_header_fields,
        # A lower limit would refuse every peer that sends a frame of the largest size.
        pending_limit=max(options.max_pending_input, options.frame_max_length),
        address_pending_limit=max(options.max_pending_input_of_peer, options.frame_max_length),
    )


def client_settings(
    options: RemotingOptions, reactor: Clockwork, turn: Turn | None = None
) -> ConnectionSettings:
    """Return the terms that the options give to a client's connections; those with one `turn` write together.

    A client reads always: were it to stop because the server does, both would wait for each other. It trusts
    the servers that it has chosen with the size of what they answer.
    """
    return replace(
        server_settings(options, reactor, None),
        ask_limit=options.client_async_semaphore_value,
        reads_always=True,
        header_max=options.frame_max_length,
        fields_max=options.frame_max_length,
        turn=turn or Turn(),
        pending_limit=inf,
        address_pending_limit=inf,
    )
