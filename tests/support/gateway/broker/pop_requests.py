"""What the operations of POP are asked by one that is no remoting request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pop:
    """As `PopRequest` says it, of group G and topic T."""

    topic: str = "T"
    consumer_group: str = "G"
    queue_id: int = -1
    max_msg_nums: int = 32
    invisible_time: int = 10_000
    poll_time: int = 0
    born_time: int = 0
    init_mode: int = 0
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


@dataclass(frozen=True)
class PopLite:
    """As `PopLiteRequest` says it."""

    topic: str = "chat"
    consumer_group: str = "G"
    client_id: str = "c1"
    max_msg_num: int = 32
    invisible_time: int = 10_000
    poll_time: int = 0
    born_time: int = 0
    attempt_id: str | None = None


@dataclass(frozen=True)
class Acked:
    """As `InvisibleTimeRequest` says it; an acknowledgement has no use for the time."""

    extra_info: str
    offset: int
    queue_id: int = 0
    topic: str = "T"
    consumer_group: str = "G"
    lite_topic: str | None = None
    invisible_time: int = 0
    suspend: bool = False
