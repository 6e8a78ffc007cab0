"""Strategies that divide queues among the members of a group; see `mqgateway.gateway.client.allocation`."""

from mqgateway.gateway.client.allocation import (
    Averagely,
    AveragelyByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    PinnedTo,
    Strategy,
)

__all__ = [
    "Averagely",
    "AveragelyByCircle",
    "ByConfig",
    "ByMachineRoom",
    "ConsistentHash",
    "MachineRoomNearby",
    "PinnedTo",
    "Strategy",
]
