"""The face for Twisted programs: the core itself, which gives Deferreds and lives in the program's reactor.

    producer = Producer("group", surroundings(reactor), namesrv_addr="127.0.0.1:9876")
    yield producer.start()
    result = yield producer.send(Message("topic", b"body"))

Listeners are called in the reactor's thread and may give a Deferred; one that blocks, blocks everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.clock import Clock, SystemClock
from engine.disk import Disk, RealDisk
from engine.worker import Worker
from gateway.client.admin import Admin
from gateway.client.client import Client, Surroundings
from gateway.client.lite_pull import LitePullConsumer
from gateway.client.message import Message
from gateway.client.producer import Producer
from gateway.client.pull import PullConsumer
from gateway.client.push import PushConsumer
from gateway.client.transactions import TransactionProducer
from gateway.remoting.loop import Reactor

__all__ = [
    "Admin",
    "Client",
    "LitePullConsumer",
    "Message",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "TransactionProducer",
    "surroundings",
]


@dataclass
class _Process:
    reactor: Reactor
    clock: Clock = field(default_factory=SystemClock)
    disk: Disk = field(default_factory=RealDisk)
    worker: Worker | None = None


def surroundings(reactor: Reactor) -> Surroundings:
    """What a client needs of this process, with the given reactor."""
    return _Process(reactor)
