"""Pulls of a caller that has no header of the remoting protocol."""

from __future__ import annotations

from dataclasses import dataclass

from mqgateway.gateway.broker.consume.pull_request import PullRequest


@dataclass
class Wish:
    """What such a caller asks for; everything in queue 0 of T, by its tags, unless it says otherwise."""

    consumer_group: str = "G"
    topic: str = "T"
    lite_topic: str | None = None
    queue_id: int = 0
    queue_offset: int = 0
    max_msg_nums: int = 32
    sys_flag: int = 4
    commit_offset: int = 0
    suspend_timeout_millis: int = 15_000
    subscription: str | None = "*"
    sub_version: int = 0
    expression_type: str | None = None
    max_msg_bytes: int | None = None
    request_source: int | None = None
    proxy_froward_client_id: str | None = None


def wish(**fields: object) -> PullRequest:
    """A pull with these fields."""
    return Wish(**fields)  # type: ignore[arg-type]
