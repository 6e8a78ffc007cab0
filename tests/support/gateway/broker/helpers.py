"""A broker in memory for tests: a real store on a disk in memory, a clock moved by hand, silent peers.

Requests take the whole path: they are encoded like a client's, decoded, dispatched, and the answer is decoded
from its bytes. `MemoryBroker.ask` is one read of one connection: after it the store dispatches, like the
server does after each read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.filters import compile_subscription
from mqgateway.engine.message import Message, StoredMessage, format_properties, pack_host
from mqgateway.engine.options import BrokerOptions, OptionSet, RemotingOptions, StoreOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import Arrival
from mqgateway.engine.store.record import decode
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.tier.reading import TierReading
from mqgateway.engine.worker import InlineWorker, Worker
from mqgateway.gateway.broker.assembly import build_broker
from mqgateway.gateway.broker.body_limits import limits_of_bodies
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.clients.outgoing_requests import RemotingOutgoing
from mqgateway.gateway.broker.environment import BrokerEnvironment
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.broker.refusals import refusal
from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.broker.translated import DispatchContext
from mqgateway.gateway.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import PullMessageRequestHeader
from mqgateway.gateway.codec.headers.send import SendMessageRequestHeaderV2
from mqgateway.gateway.remoting.call import Peer, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher, RequestTable, encode_reply
from mqgateway.gateway.remoting.turn import Turn

T = TypeVar("T")
PRODUCER = "10.0.0.1:4001"
CONSUMER = "10.0.0.2:4002"
CONFIG_PATH = "/broker.conf"
PORT = 10911
STORE_HOST = pack_host("127.0.0.1", PORT)


class InlineRunner:
    """Runs each cooperative task of a broker at once, each step in a turn of its own."""

    def __init__(self, memory: MemoryBroker) -> None:
        self._memory = memory

    def run(self, lane: str, steps: Steps[T | Deferred[T]]) -> Deferred[T]:
        """Run a task like `Runner`."""
        outcome: Deferred[T] = maybeDeferred(self._memory.in_turns, steps)
        return outcome


class FakePeer:
    """The peer of a connection: records what it is sent, and can be lost."""

    def __init__(self, address: str = PRODUCER) -> None:
        self.address = address
        ip, _, port = address.rpartition(":")
        self.host_bytes = pack_host(ip, int(port))
        self.local_address = "127.0.0.1:10911"
        self.is_open = True
        self.sent: list[RemotingCommand] = []
        self._on_lost: list[Callable[[Peer], None]] = []

    def request(self, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        """Record a request, which is never answered."""
        self.sent.append(command)
        return Deferred()

    def send_oneway(self, command: RemotingCommand) -> None:
        """Record a one-way request."""
        self.sent.append(command)

    def send_reply(self, request: RemotingCommand, reply: Reply) -> None:
        """Record a reply as the client decodes it."""
        self.sent.append(decode_command(encode_reply(request, reply)[4:]))

    def close(self, reason: str) -> None:
        """Lose the connection."""
        self.lose()

    def on_lost(self, callback: Callable[[Peer], None]) -> None:
        """Register a callback, once like the real peer."""
        if not self.is_open:
            callback(self)
        elif callback not in self._on_lost:
            self._on_lost.append(callback)

    def lose(self) -> None:
        """Lose the connection."""
        self.is_open = False
        for callback in self._on_lost:
            callback(self)


class Answer:
    """Answer to a request: `command` is None while it waits, and stays so for a one-way request."""

    def __init__(self) -> None:
        self.command: RemotingCommand | None = None

    def take(self, frame: bytes | None) -> None:
        """Decode the bytes that a server would write."""
        assert self.command is None, "answered twice"
        if frame is not None:
            self.command = decode_command(frame[4:])

    @property
    def waits(self) -> bool:
        """True if there is no answer yet."""
        return self.command is None

    @property
    def arrived(self) -> RemotingCommand:
        """The answer, which must have arrived."""
        assert self.command is not None, "no answer yet"
        return self.command

    @property
    def code(self) -> int:
        """Response code."""
        return self.arrived.code

    @property
    def remark(self) -> str | None:
        """Remark."""
        return self.arrived.remark

    @property
    def ext(self) -> dict[str, str]:
        """Extension fields."""
        return self.arrived.ext_fields

    @property
    def messages(self) -> list[StoredMessage]:
        """Records in the body."""
        return split_records(self.arrived.body)


def split_records(body: bytes) -> list[StoredMessage]:
    """Split concatenated records."""
    found = []
    at = 0
    while at < len(body):
        found.append(decode(body, at))
        at += found[-1].size
    return found


class Outside:
    """Other servers to which a broker sends requests."""

    def __init__(self, ask: Callable[[str, RemotingCommand, float], Deferred[RemotingCommand]]) -> None:
        self._ask = ask

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        """Send a request to one of them."""
        return self._ask(address, command, timeout)


class MemoryBroker:
    """All parts of a broker that requests use, and the requests."""

    def __init__(
        self,
        *,
        disk: Disk | None = None,
        clock: ManualClock | None = None,
        worker: Worker | None = None,
        options: dict[str, Any] | None = None,
        store_options: dict[str, Any] | None = None,
        requests: RequestTable | None = None,
        tier: TierReading | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        named: dict[str, Any] = {
            "broker_ip1": "127.0.0.1",
            "broker_name": "broker-a",
            "broker_config_path": CONFIG_PATH,
        }
        self.options = BrokerOptions(**named | (options or {}))
        usual: dict[str, Any] = {"store_path_root_dir": "/store", "mapped_file_size_commit_log": 1 << 20}
        self.store_options = StoreOptions(**usual | (store_options or {}))
        self.arrivals: list[Arrival] = []
        self.is_turn = False
        self.broker = self._build(worker or InlineWorker(), tier)
        self.broker.store.start()
        served = REQUESTS if requests is None else requests
        limits = limits_of_bodies(served, RemotingOptions(), self.options)
        turn = Turn()
        turn.begin()
        operations = Operations(self.broker, InlineRunner(self), turn=turn)
        self.context = DispatchContext(self.broker, operations)
        self.dispatcher = Dispatcher(
            self.context, served, {}, clock=self.clock, limits=limits, refusal=refusal
        )
        self.producer = FakePeer(PRODUCER)
        self.consumer = FakePeer(CONSUMER)

    def _build(self, worker: Worker, tier: TierReading | None) -> Broker:
        """Build the broker by the product's assembly; arrivals are also recorded for tests."""
        environment = BrokerEnvironment(
            self.options, self.store_options, self.disk, self.clock, worker, PORT, PORT + 1, tier=tier
        )
        settings = OptionSet(self.options, self.store_options)
        broker = build_broker(
            environment,
            settings,
            client=Outside(self.ask_outside),
            clockwork=Clock(),
            is_turn=lambda: self.is_turn,
        )
        wake = broker.store.on_arrivals

        def arrived(arrivals: list[Arrival]) -> None:
            self.arrivals += arrivals
            wake(arrivals)

        broker.store.on_arrivals = arrived
        return broker

    def ask_outside(
        self, address: str, command: RemotingCommand, timeout: float
    ) -> Deferred[RemotingCommand]:
        """Send a request to another server; it is never answered."""
        return Deferred()

    def in_turns(self, steps: Steps[Any]) -> Any:
        """Return the result of a cooperative task, with each step in a turn of its own."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            self.broker.store.dispatch()

    def add_topic(self, name: str, *, queues: int = 4, perm: int = 6, **other: Any) -> TopicConfig:
        """Create a topic like an administrator."""
        config = TopicConfig(
            topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm, **other
        )
        self.broker.tables.topics.put(config)
        return config

    def subscribe(
        self, group: str, topic: str, expression: str = "*", *, peer: FakePeer | None = None, **data: Any
    ) -> None:
        """Register a consumer like its heartbeat."""
        fields: dict[str, Any] = {
            "group_name": group,
            "consume_type": "CONSUME_PASSIVELY",
            "message_model": "CLUSTERING",
            "consume_from_where": "CONSUME_FROM_LAST_OFFSET",
            "unit_mode": False,
            "subscription_data_set": [subscription(topic, expression)],
        }
        member = peer or self.consumer
        consumer = ConsumerData(**fields | data)
        outgoing = RemotingOutgoing(member, CURRENT_VERSION)
        self.broker.clients.register_consumer(
            consumer, GroupClient(member, member.address, "JAVA", CURRENT_VERSION, outgoing)
        )
        self.broker.tables.filters.register(group, consumer.subscription_data_set)

    def ask(
        self,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        *,
        peer: FakePeer | None = None,
        version: int = CURRENT_VERSION,
        ext: dict[str, str] | None = None,
        oneway: bool = False,
    ) -> Answer:
        """Send one request in one read."""
        command = RemotingCommand.request(code, header, body, ext=ext)
        command.version = version
        command.opaque = 7
        if oneway:
            command.flag |= ONEWAY_FLAG
        answer = Answer()
        frame = self.dispatcher.dispatch(decode_command(encode_command(command)[4:]), peer or self.producer)
        if isinstance(frame, Generator):
            frame = self.in_turns(frame)
        if isinstance(frame, Deferred):
            frame.addCallback(answer.take)
        self.broker.store.dispatch()
        if not isinstance(frame, Deferred):
            answer.take(frame)
        return answer

    def send(
        self,
        topic: str = "T",
        body: bytes = b"hello",
        *,
        properties: dict[str, str] | None = None,
        version: int = CURRENT_VERSION,
        oneway: bool = False,
        **fields: Any,
    ) -> Answer:
        """Send one SEND_MESSAGE_V2."""
        code = RequestCode.SEND_BATCH_MESSAGE if fields.get("batch") else RequestCode.SEND_MESSAGE_V2
        header = send_header(topic, properties, **fields)
        return self.ask(code, header, body, peer=self.producer, version=version, oneway=oneway)

    def pull(
        self,
        topic: str = "T",
        *,
        offset: int = 0,
        group: str = "G",
        peer: FakePeer | None = None,
        **fields: Any,
    ) -> Answer:
        """Send one PULL_MESSAGE of a push consumer; it waits only if `sys_flag` has bit 2."""
        header = pull_header(topic, offset=offset, group=group, **fields)
        return self.ask(RequestCode.PULL_MESSAGE, header, peer=peer or self.consumer)

    def wait(self, millis: int) -> None:
        """Advance the clock, and do the periodic work of the service."""
        self.clock.advance(millis)
        self.broker.store.tick()
        self.broker.delays.tick(self.broker.store.steady.now())
        self.broker.timers.tick(self.broker.store.steady.now())
        self.broker.pop.tick(self.broker.store.steady.now(), elapsed_millis(self.clock))
        self.broker.lite.tick(self.broker.store.steady.now(), elapsed_millis(self.clock))
        self.broker.compaction.tick()
        self.broker.consume.answer_due(elapsed_millis(self.clock), self.broker.store)

    def stored(self, topic: str, queue_id: int = 0, offset: int = 0, count: int = 32) -> list[StoredMessage]:
        """Return the messages of a queue."""
        return split_records(self.broker.store.get(topic, queue_id, offset, count, accept=None).body)


def subscription(topic: str, expression: str = "*", version: int = 1, kind: str = "TAG") -> SubscriptionData:
    """Return a subscription as a client sends it."""
    built = compile_subscription(topic, expression, kind)
    return SubscriptionData(
        topic=topic,
        sub_string=built.sub_string,
        tags_set=list(built.tags_set),
        code_set=list(built.code_set),
        sub_version=version,
        expression_type=kind,
        class_filter_mode=False,
    )


def send_header(
    topic: str = "T", properties: dict[str, str] | None = None, **fields: Any
) -> SendMessageRequestHeaderV2:
    """Return the header of a send with a producer's usual fields."""
    usual: dict[str, Any] = {
        "producer_group": "PG",
        "topic": topic,
        "default_topic": "TBW102",
        "default_topic_queue_nums": 4,
        "queue_id": 0,
        "sys_flag": 0,
        "born_timestamp": 1_699_999_999_000,
        "flag": 0,
        "properties": format_properties(
            {"UNIQ_KEY": "K1", "WAIT": "true"} if properties is None else properties
        ),
    }
    return SendMessageRequestHeaderV2(**usual | fields)


def pull_header(
    topic: str = "T", *, offset: int = 0, group: str = "G", **fields: Any
) -> PullMessageRequestHeader:
    """Return the header of a pull with a consumer's usual fields."""
    usual: dict[str, Any] = {
        "consumer_group": group,
        "topic": topic,
        "queue_id": 0,
        "queue_offset": offset,
        "max_msg_nums": 32,
        "sys_flag": 0,
        "commit_offset": 0,
        "suspend_timeout_millis": 15_000,
        "sub_version": 0,
    }
    return PullMessageRequestHeader(**usual | fields)


def batch_body(*messages: tuple[bytes, dict[str, str]]) -> bytes:
    """Return the body of a SEND_BATCH_MESSAGE: each message with its own properties."""
    parts = []
    for body, properties in messages:
        text = format_properties(properties).encode()
        size = 20 + len(body) + 2 + len(text)
        parts.append(b"".join(number.to_bytes(4, "big") for number in (size, 0, 0, 0, len(body))))
        parts += [body, len(text).to_bytes(2, "big"), text]
    return b"".join(parts)


def plain_message(topic: str = "T", queue_id: int = 0, body: bytes = b"x", **properties: str) -> Message:
    """Return a message to put into the store directly."""
    return Message(topic, queue_id, body, properties, 1_699_999_999_000, STORE_HOST, STORE_HOST)
