"""Effects of a member: requests to others, answers to others. The driver of the member carries both out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mqgateway.engine.raft.messages import Answer, Request

Answered = Callable[[Any, int], None]
"""Takes the answer to a request, or None, and the time in ms."""


class Send(NamedTuple):
    """Send a request to another member; `answered` must be called once, with the answer or with None if
    there is none.
    """

    peer: str
    request: Request
    answered: Answered


class RaftReply(NamedTuple):
    """Answer the request that came with this `token`."""

    token: object
    answer: Answer


Effect = Send | RaftReply


class Effects:
    """Effects since they were last taken."""

    def __init__(self) -> None:
        self._waiting: list[Effect] = []

    def send(self, peer: str, request: Request, answered: Answered) -> None:
        """Send a request to another member."""
        self._waiting.append(Send(peer, request, answered))

    def reply(self, token: object, answer: Answer) -> None:
        """Answer another member."""
        self._waiting.append(RaftReply(token, answer))

    def take(self) -> list[Effect]:
        """Return the effects in order, and clear them."""
        taken, self._waiting = self._waiting, []
        return taken
