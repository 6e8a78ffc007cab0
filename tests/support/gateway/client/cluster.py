"""Clients in memory: a name server, one or several brokers, real bytes, manual time, no threads.

`Cluster` is the world of `tests.fuzz` with clients in it. `run` waits for a client's Deferred by advancing
the time in small steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.options import BrokerOptions, OptionSet, RemotingOptions, StoreOptions, TlsOptions
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.options import ClientOptions, made
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.runtime.service import Runtime
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT, World
from tests.support.topics import topic_header

T = TypeVar("T")
NAMESRV = f"10.0.0.1:{NAMESRV_PORT}"
STEPS_MAX = 400


class Around:
    """Environment of a client in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.reactor: Any = cluster.net
        self.clock = cluster.clock
        self.disk = cluster.disk
        self.worker = None
        self.turn = None


class Cluster(World):
    """Servers and the clients of a test, which are closed at its end."""

    def __init__(self, **chosen: Any) -> None:
        super().__init__(**chosen)
        self.around = Around(self)
        self.others: dict[str, BrokerService] = {}
        self._cut: dict[int, Any] = {}
        self._to_close: list[Callable[[], Deferred[Any]]] = []

    def __exit__(self, *failure: Any) -> None:
        for close in reversed(self._to_close):
            if failure[0] is None:
                self.run(close())
        super().__exit__(*failure)

    # Time

    def run(self, outcome: Deferred[T], step: float = 0.0) -> T:
        """Return the result of a Deferred; advance the time until it fires, by `step` seconds if nothing
        moves."""
        results: list[Any] = []
        outcome.addBoth(results.append)
        for number in range(STEPS_MAX):
            if results:
                break
            self.settle(step or (0.0 if number < 2 else 0.5))
        assert results, "nothing came of it"
        if isinstance(results[0], Failure):
            results[0].raiseException()
        result: T = results[0]
        return result

    def wait_for(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Advance the time until a condition holds."""
        for _ in range(round(seconds * 2)):
            if condition():
                return
            self.settle(0.5)
        assert condition(), f"it did not come about in {seconds:g} s"

    # Servers

    def add_broker(self, name: str, port: int, **chosen: Any) -> BrokerService:
        """Add a broker group to the cluster."""
        options = BrokerOptions(
            broker_ip1="10.0.0.1",
            broker_ip2="10.0.0.1",
            broker_name=name,
            listen_port=port,
            namesrv_addr=NAMESRV,
            **chosen,
        )
        store = StoreOptions(
            store_path_root_dir=f"/{name}",
            mapped_file_size_commit_log=64 << 20,
            mapped_file_size_consume_queue=20_000,
            max_hash_slot_num=1000,
            max_index_num=4000,
        )
        service = BrokerService(
            OptionSet(options, RemotingOptions(), store, TlsOptions()),
            Runtime(self.net, self.clock, self.disk, self.worker),
        )
        self.run(service.start())
        self.others[name] = service
        return service

    def cut(self, port: int) -> None:
        """Break all connections to a port, and refuse new ones."""
        self._cut[port] = self.net.ports.pop(port)
        for pair in self.net.pairs:
            if pair.server.host.port == port:
                pair.client.abortConnection()
        self.settle()

    def mend(self, port: int) -> None:
        """Accept connections again."""
        self.net.ports[port] = self._cut.pop(port)

    def kill(self, member: Any) -> None:
        """Kill a producer or consumer: its timers and all its connections."""
        member.is_running = member.client._is_running = False
        member.client.schedule.stop()
        for link in list(member.client._remoting._links.values()):
            if link.connection is not None:
                link.connection.abort()
        self.settle()

    def make_topic(self, topic: str, queues: int = 4, port: int = BROKER_PORT, perm: int = 6) -> None:
        """Create a topic and register it with the name server."""
        header = topic_header(topic, queues, perm=perm)
        answer = self.meet(port).ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
        assert answer.code == 0, answer.remark
        self.settle(1.0)

    def stored(self, topic: str, queue_id: int = 0, service: BrokerService | None = None) -> list[bytes]:
        """Return the bodies stored in a queue."""
        from tests.support.gateway.broker.helpers import split_records

        store = (service or self.service).broker.store
        return [one.body for one in split_records(store.get(topic, queue_id, 0, 1000, accept=None).body)]

    def everything(self, topic: str, queues: int = 4, service: BrokerService | None = None) -> list[bytes]:
        """Return the bodies stored in all queues of a topic."""
        return [body for number in range(queues) for body in self.stored(topic, number, service)]

    # Clients

    def settings(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the default settings of clients here."""
        return {"namesrv_addr": NAMESRV, "client_ip": "10.0.0.2", **given}

    def client(self, **given: Any) -> Client:
        """Return a client without members."""
        client = Client(made(ClientOptions, self.settings(given)), self.around)
        client.start()
        self._to_close.append(client.close)
        return client

    def producer(self, group: str = "Producers", **given: Any) -> Producer:
        """Return a started producer."""
        producer = Producer(group, self.around, **self.settings(given))
        self.begin(producer)
        return producer

    def begin(self, member: Any) -> None:
        """Start a producer or consumer, which is closed at the end."""
        self.run(member.start())
        self._to_close.append(member.close)


def bodies(messages: list[ReceivedMessage]) -> list[bytes]:
    """Return the bodies of messages."""
    return [message.body for message in messages]


def messages(topic: str, count: int, **fields: Any) -> list[Message]:
    """Return messages with the bodies 0, 1, 2 ..."""
    return [Message(topic, str(number), **fields) for number in range(count)]


def queue_of(topic: str, queue_id: int = 0, broker: str = "broker-a") -> MessageQueue:
    """Return a queue."""
    return MessageQueue(topic, broker, queue_id)


def requests_seen(cluster: Cluster, port: int = BROKER_PORT) -> list[RemotingCommand]:
    """Record every request to a broker's port from now on."""
    services = (cluster.service, *cluster.others.values())
    return _watched(next(one.dispatcher for one in services if one.port == port))


def topics_asked_for(cluster: Cluster) -> Callable[[], list[str]]:
    """Record the topics whose routes are requested from the name server from now on."""
    seen = _watched(cluster.namesrv.dispatcher)
    wanted = RequestCode.GET_ROUTEINFO_BY_TOPIC
    return lambda: [one.ext_fields["topic"] for one in seen if one.code == wanted]


def _watched(dispatcher: Any) -> list[RemotingCommand]:
    seen: list[RemotingCommand] = []

    def watched(command: RemotingCommand, peer: Any, proceed: Any) -> Any:
        seen.append(command)
        return proceed(command, peer)

    dispatcher.intercept_with(watched)
    return seen
