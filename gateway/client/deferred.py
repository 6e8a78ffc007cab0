"""API for Twisted programs: the core itself, which returns Deferreds and runs in the program's reactor.

    producer = Producer("group", environment(reactor), namesrv_addr="127.0.0.1:9876")
    yield producer.start()
    result = yield producer.send(Message("topic", b"body"))

Listeners are called in the reactor's thread and may return a Deferred. A listener that blocks stops the
reactor.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mqgateway.engine.clock import Clock, SystemClock
from mqgateway.engine.disk import Disk
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.worker import Worker
from mqgateway.gateway.client.admin import Admin
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.lite_pull import LitePullConsumer
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.client.pull import PullConsumer
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.client.simple import SimpleConsumer
from mqgateway.gateway.client.transactions import TransactionProducer
from mqgateway.gateway.remoting.turn import Turn
from mqgateway.gateway.runtime.loop import Reactor, use_monotonic_time

__all__ = [
    "Admin",
    "Client",
    "LitePullConsumer",
    "Message",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "SimpleConsumer",
    "TransactionProducer",
    "environment",
]


@dataclass
class _Process:
    reactor: Reactor
    clock: Clock = field(default_factory=SystemClock)
    disk: Disk = field(default_factory=RealDisk)
    worker: Worker | None = None
    turn: Turn | None = None


def environment(reactor: Reactor) -> Environment:
    """Return the environment of clients that run in the given reactor.

    From then on the reactor uses the monotonic clock, so that changes of the wall clock do not affect its
    timers.
    """
    use_monotonic_time(reactor)
    return _Process(reactor)
