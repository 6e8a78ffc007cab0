"""What a member wants done: requests to others, answers to others. Whoever drives it carries both out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mqgateway.engine.raft.messages import Answer, Request

Answered = Callable[[Any, int], None]
"""Takes the answer to a request, or None, and the time in ms."""


class Send(NamedTuple):
    """Ask another member; `answered` is to be called once, with the answer or with None when there will be
    none."""

    peer: str
    request: Request
    answered: Answered


class Reply(NamedTuple):
    """Answer the request that came with this `token`."""

    token: object
    answer: Answer


Effect = Send | Reply


class Effects:
    """What there is to do since it was taken last."""

    def __init__(self) -> None:
        self._waiting: list[Effect] = []

    def send(self, peer: str, request: Request, answered: Answered) -> None:
        """Ask another member."""
        self._waiting.append(Send(peer, request, answered))

    def reply(self, token: object, answer: Answer) -> None:
        """Answer another member."""
        self._waiting.append(Reply(token, answer))

    def take(self) -> list[Effect]:
        """What is to be done, in order."""
        taken, self._waiting = self._waiting, []
        return taken
