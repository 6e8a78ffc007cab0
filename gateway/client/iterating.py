"""Messages that a program goes through one by one, and how many of them it has handled.

A message counts as handled when the program asks for the next one. So what a loop was at when it failed is
not committed, and what was received but not given to the loop is not either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mqgateway.gateway.client.message import ReceivedMessage


class Hand:
    """Messages that came together: the first `given` were handed out, the first `done` are handled.

    `is_current` says whether messages may still be handed out.
    """

    def __init__(self, messages: Sequence[ReceivedMessage], is_current: Callable[[], bool]) -> None:
        self.messages = messages
        self.given = 0
        self.done = 0
        self.is_ended = False
        self._settled = 0
        self._is_current = is_current

    @property
    def is_empty(self) -> bool:
        """Return True if every message was delivered to the loop."""
        return self.given == len(self.messages)

    def settle(self) -> None:
        """Count all messages as handled that were handed out."""
        self.done = self.given

    def newly_done(self) -> Sequence[ReceivedMessage]:
        """Return the messages that were handled since the last call."""
        begin, self._settled = self._settled, self.done
        return self.messages[begin : self._settled]

    def __iter__(self) -> Iterator[ReceivedMessage]:
        while not (self.is_empty or self.is_ended):
            message = self.messages[self.given]
            self.given += 1
            if self._is_current():
                yield message
            self.done = self.given
