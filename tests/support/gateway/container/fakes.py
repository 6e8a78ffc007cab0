"""Children without processes, controlled by a test."""

from __future__ import annotations

from mqgateway.gateway.container.children import Message, OnEnd, OnMessage


class FakeChild:
    """One child; `sent` has the messages that were sent to it."""

    def __init__(self, pid: int, path: str, first: Message, on_message: OnMessage, on_end: OnEnd) -> None:
        self.pid = pid
        self.path = path
        self.sent: list[Message] = [first]
        self.say = on_message
        self.end = on_end
        self.stops = 0
        self.kills = 0

    def send(self, message: Message) -> None:
        self.sent.append(message)

    def stop(self) -> None:
        self.stops += 1

    def kill(self) -> None:
        self.kills += 1


class FakeLaunch:
    """All children that were started; with `refusing` the system has no more processes."""

    def __init__(self) -> None:
        self.children: list[FakeChild] = []
        self.refusing = False

    def __call__(self, path: str, first: Message, on_message: OnMessage, on_end: OnEnd) -> FakeChild:
        if self.refusing:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        child = FakeChild(100 + len(self.children), path, first, on_message, on_end)
        self.children.append(child)
        return child
