"""Messages as a front end hands them over, without a header of any protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

ANY_QUEUE = -1
"""The broker chooses the queue."""


@dataclass(slots=True)
class NewMessage:
    """A message to store.

    `body` is stored as it is; `sys_flag` holds the bits of `engine.message.SysFlag` for its compression and
    for a half message. `flag` belongs to the application. `born_timestamp` is in ms since the epoch.
    `reconsume_times` counts failed deliveries, of a message to a retry topic. An unknown topic is refused.
    """

    topic: str
    body: bytes
    born_timestamp: int
    properties: dict[str, str] = field(default_factory=dict)
    queue_id: int = ANY_QUEUE
    sys_flag: int = 0
    flag: int = 0
    reconsume_times: int = 0
    producer_group: str = ""
