"""A broker in memory for tests: a real store on a disk in memory, a clock moved by hand, silent peers.

Requests go the whole way: they are encoded as a client would, decoded, dispatched, and the answer is
decoded from its bytes. `MemoryBroker.ask` is one read of one connection: after it the store dispatches,
as the server does after each read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.assignment import RequestModes
from mqgateway.engine.broadcasts import BroadcastOffsets
from mqgateway.engine.clock import ManualClock, elapsed_millis
from mqgateway.engine.cold_reads import ColdReads
from mqgateway.engine.configuration import Configuration
from mqgateway.engine.delays import DelayLevels, DelaySchedule
from mqgateway.engine.disk import Disk
from mqgateway.engine.filters import ConsumerFilters, compile_subscription
from mqgateway.engine.groups import GroupTable
from mqgateway.engine.laggards import Laggards
from mqgateway.engine.mapping.mappings import Mappings
from mqgateway.engine.message import Message, StoredMessage, UniqueKeys, format_properties, pack_host
from mqgateway.engine.offsets import ConsumerOffsets
from mqgateway.engine.options import BrokerOptions, OptionSet, RemotingOptions, StoreOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import Arrival, MessageStore
from mqgateway.engine.store.record import decode
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.timers import Timers
from mqgateway.engine.topics import TopicConfig, TopicTable
from mqgateway.engine.transactions import TransactionCounts, TransactionLog
from mqgateway.engine.worker import InlineWorker, Worker
from mqgateway.gateway.broker import locks, offsets, pull, query, send, send_back, transactions
from mqgateway.gateway.broker.body_limits import limits_of_bodies
from mqgateway.gateway.broker.broker import PERM_WRITE, Broker
from mqgateway.gateway.broker.clients import Client, ClientTable
from mqgateway.gateway.broker.durable import Durability
from mqgateway.gateway.broker.flow_control import FlowControl
from mqgateway.gateway.broker.lites import Lites
from mqgateway.gateway.broker.locks import QueueLocks
from mqgateway.gateway.broker.longpoll import PullHolds, resume_all
from mqgateway.gateway.broker.neighbours import Neighbours
from mqgateway.gateway.broker.pops import Pops
from mqgateway.gateway.broker.stats import BrokerStats
from mqgateway.gateway.broker.topic_queues import TopicQueues
from mqgateway.gateway.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import PullMessageRequestHeader
from mqgateway.gateway.codec.headers.send import SendMessageRequestHeaderV2
from mqgateway.gateway.remoting.call import Peer, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher, RequestFunction, RequestTable, encode_reply

REQUESTS: dict[int, RequestFunction] = {
    RequestCode.SEND_MESSAGE: send.send_message,
    RequestCode.SEND_MESSAGE_V2: send.send_message,
    RequestCode.SEND_BATCH_MESSAGE: send.send_message,
    RequestCode.CONSUMER_SEND_MSG_BACK: send_back.send_back,
    RequestCode.END_TRANSACTION: transactions.end_transaction,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: transactions.resume_check,
    RequestCode.PULL_MESSAGE: pull.pull_message,
    RequestCode.LITE_PULL_MESSAGE: pull.pull_message,
    RequestCode.QUERY_MESSAGE: query.query_message,
    RequestCode.VIEW_MESSAGE_BY_ID: query.view_message,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: query.search_offset,
    RequestCode.GET_MAX_OFFSET: query.max_offset,
    RequestCode.GET_MIN_OFFSET: query.min_offset,
    RequestCode.GET_EARLIEST_MSG_STORETIME: query.earliest_store_time,
    RequestCode.QUERY_CONSUME_QUEUE: query.query_consume_queue,
    RequestCode.QUERY_CONSUMER_OFFSET: offsets.query_offset,
    RequestCode.UPDATE_CONSUMER_OFFSET: offsets.update_offset,
    RequestCode.CLONE_GROUP_OFFSET: offsets.clone_offset,
    RequestCode.GET_ALL_CONSUMER_OFFSET: offsets.all_offsets,
    RequestCode.LOCK_BATCH_MQ: locks.lock_queues,
    RequestCode.UNLOCK_BATCH_MQ: locks.unlock_queues,
}

PRODUCER = "10.0.0.1:4001"
CONSUMER = "10.0.0.2:4002"
CONFIG_PATH = "/broker.conf"
STORE_HOST = pack_host("127.0.0.1", 10911)


class FakePeer:
    """The other side of a connection: keeps what it is sent, and can be lost."""

    def __init__(self, address: str = PRODUCER) -> None:
        self.address = address
        ip, _, port = address.rpartition(":")
        self.host_bytes = pack_host(ip, int(port))
        self.local_address = "127.0.0.1:10911"
        self.is_open = True
        self.sent: list[RemotingCommand] = []
        self._on_lost: list[Callable[[Peer], None]] = []

    def request(self, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        """Never answered."""
        self.sent.append(command)
        return Deferred()

    def send_oneway(self, command: RemotingCommand) -> None:
        """Keep it."""
        self.sent.append(command)

    def send_reply(self, request: RemotingCommand, reply: Reply) -> None:
        """Keep it as the client would read it."""
        self.sent.append(decode_command(encode_reply(request, reply)[4:]))

    def close(self, reason: str) -> None:
        """Closing is losing."""
        self.lose()

    def on_lost(self, callback: Callable[[Peer], None]) -> None:
        """As the real one: the same callback is kept once."""
        if not self.is_open:
            callback(self)
        elif callback not in self._on_lost:
            self._on_lost.append(callback)

    def lose(self) -> None:
        """The connection is gone."""
        self.is_open = False
        for callback in self._on_lost:
            callback(self)


class Answer:
    """What became of a request: `command` is None while it waits, and stays so for a one-way."""

    def __init__(self) -> None:
        self.command: RemotingCommand | None = None

    def take(self, frame: bytes | None) -> None:
        """The bytes a server would write."""
        assert self.command is None, "answered twice"
        if frame is not None:
            self.command = decode_command(frame[4:])

    @property
    def waits(self) -> bool:
        """Whether nothing was answered yet."""
        return self.command is None

    @property
    def arrived(self) -> RemotingCommand:
        """The answer that must be there."""
        assert self.command is not None, "no answer yet"
        return self.command

    @property
    def code(self) -> int:
        """Its code."""
        return self.arrived.code

    @property
    def remark(self) -> str | None:
        """Its remark."""
        return self.arrived.remark

    @property
    def ext(self) -> dict[str, str]:
        """Its fields."""
        return self.arrived.ext_fields

    @property
    def messages(self) -> list[StoredMessage]:
        """The records in its body."""
        return split_records(self.arrived.body)


def split_records(body: bytes) -> list[StoredMessage]:
    """Records that lie back to back."""
    found = []
    at = 0
    while at < len(body):
        found.append(decode(body, at))
        at += found[-1].size
    return found


class MemoryBroker:
    """All parts of a broker that requests see, and the requests."""

    def __init__(
        self,
        *,
        disk: Disk | None = None,
        clock: ManualClock | None = None,
        worker: Worker | None = None,
        options: dict[str, Any] | None = None,
        store_options: dict[str, Any] | None = None,
        requests: RequestTable | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        named: dict[str, Any] = {"broker_ip1": "127.0.0.1", "broker_name": "broker-a"}
        self.options = BrokerOptions(**named | (options or {}))
        usual: dict[str, Any] = {"store_path_root_dir": "/store", "mapped_file_size_commit_log": 1 << 20}
        self.store_options = StoreOptions(**usual | (store_options or {}))
        self.arrivals: list[Arrival] = []
        self.broker = self._build(worker or InlineWorker())
        self.broker.store.start()
        served = REQUESTS if requests is None else requests
        limits = limits_of_bodies(served, RemotingOptions(), self.options)
        self.dispatcher = Dispatcher(self.broker, served, {}, clock=self.clock, limits=limits)
        self.producer = FakePeer(PRODUCER)
        self.consumer = FakePeer(CONSUMER)

    def _build(self, worker: Worker) -> Broker:
        options, store_options, clock, disk = self.options, self.store_options, self.clock, self.disk
        store = MessageStore(
            store_options,
            disk=disk,
            clock=clock,
            worker=worker,
            store_host=STORE_HOST,
            on_arrivals=self._on_arrivals,
            is_batch_topic=lambda topic: self.broker.topics.has_batch_queues(topic),
        )
        levels = DelayLevels(store_options.message_delay_level)
        config = "/store/config/"
        filters = ConsumerFilters(options, disk, config + "consumerFilter.json", clock)
        topics = TopicTable(options, disk, config + "topics.json", clock)
        topics.has_light_topics = store_options.enable_lmq
        offsets = ConsumerOffsets(options, disk, config + "consumerOffset.json", clock)
        locks = QueueLocks(options)
        stats = BrokerStats(options, clock.millis(), topics.is_system)
        unique_keys = UniqueKeys(b"\x7f\0\0\1", 1, 2, clock.millis())
        groups = GroupTable(options, disk, config + "subscriptionGroup.json", clock)
        groups.has_light_groups = store_options.enable_lmq
        timers = Timers(store, store_options, disk, clock, worker, slots=512)
        orders = config + "consumerOrderInfo.json"
        lites = Lites(
            options,
            store,
            topics,
            groups,
            offsets,
            disk,
            clock,
            TopicQueues(options, topics, lambda *_: Deferred(), PERM_WRITE),
        )
        counts = TransactionCounts(disk, config + "transactionMetrics", clock)
        return Broker(
            options=options,
            store_options=store_options,
            clock=clock,
            store=store,
            topics=topics,
            groups=groups,
            offsets=offsets,
            filters=filters,
            clients=ClientTable(
                options,
                clock,
                on_group_gone=filters.unregister,
                on_member_lost=locks.orphan,
                on_disagreement=stats.inconsistent,
            ),
            locks=locks,
            holds=PullHolds(options),
            pops=Pops(
                options,
                store,
                timers,
                topics,
                groups,
                offsets,
                disk,
                orders,
                clock,
                worker,
                STORE_HOST,
                stats,
            ),
            lites=lites,
            mappings=Mappings(options, disk, config + "topicQueueMapping.json", clock),
            neighbours=Neighbours(options, clock, self.ask_outside),
            delays=DelaySchedule(
                store, levels, disk, config + "delayOffset.json", clock, on_delivered=stats.delivered
            ),
            delay_levels=levels,
            timers=timers,
            transactions=TransactionLog(
                store, topics, offsets, counts, options, store_options, clock, unique_keys, STORE_HOST, stats
            ),
            durable=Durability(store, options, store_options, clock),
            stats=stats,
            flow_control=FlowControl(clock, stats),
            broadcasts=BroadcastOffsets(options, clock),
            cold_reads=ColdReads(options, store_options, clock, memory=1000),
            laggards=Laggards(options),
            request_modes=RequestModes(options, disk, config + "messageRequestMode.json"),
            topic_queues=TopicQueues(options, topics, lambda *_: Deferred()),
            unique_keys=unique_keys,
            store_host=STORE_HOST,
            configuration=Configuration(OptionSet(options, store_options), disk, clock, CONFIG_PATH),
            register_soon=lambda: None,
            when_registered=lambda: succeed(None),
        )

    def ask_outside(
        self, address: str, command: RemotingCommand, timeout: float
    ) -> Deferred[RemotingCommand]:
        """What the broker asks other servers; nobody answers."""
        return Deferred()

    def _long_answer(self, steps: Steps[Any]) -> Any:
        """The steps of a request, each in a turn of its own."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            self.broker.store.dispatch()

    def _on_arrivals(self, arrivals: list[Arrival]) -> None:
        self.arrivals += arrivals
        resume_all(self.broker.holds.arrived(arrivals))
        self.broker.pops.arrived(arrivals)
        self.broker.lites.arrived(arrivals)

    def add_topic(self, name: str, *, queues: int = 4, perm: int = 6, **other: Any) -> TopicConfig:
        """Make a topic as an administrator would."""
        config = TopicConfig(
            topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm, **other
        )
        self.broker.topics.put(config)
        return config

    def subscribe(
        self, group: str, topic: str, expression: str = "*", *, peer: FakePeer | None = None, **data: Any
    ) -> None:
        """What a consumer's heartbeat does."""
        told: dict[str, Any] = {
            "group_name": group,
            "consume_type": "CONSUME_PASSIVELY",
            "message_model": "CLUSTERING",
            "consume_from_where": "CONSUME_FROM_LAST_OFFSET",
            "unit_mode": False,
            "subscription_data_set": [subscription(topic, expression)],
        }
        member = peer or self.consumer
        consumer = ConsumerData(**told | data)
        self.broker.clients.register_consumer(
            consumer, Client(member, member.address, "JAVA", CURRENT_VERSION)
        )
        self.broker.filters.register(group, consumer.subscription_data_set)

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
        """One request in one read."""
        command = RemotingCommand.request(code, header, body, ext=ext)
        command.version = version
        command.opaque = 7
        if oneway:
            command.flag |= ONEWAY_FLAG
        answer = Answer()
        frame = self.dispatcher.dispatch(decode_command(encode_command(command)[4:]), peer or self.producer)
        if isinstance(frame, Generator):
            frame = self._long_answer(frame)
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
        """One SEND_MESSAGE_V2."""
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
        """One PULL_MESSAGE of a push consumer; it waits only if `sys_flag` has bit 2."""
        header = pull_header(topic, offset=offset, group=group, **fields)
        return self.ask(RequestCode.PULL_MESSAGE, header, peer=peer or self.consumer)

    def wait(self, millis: int) -> None:
        """Let time pass, and do what the service does each time."""
        self.clock.advance(millis)
        self.broker.store.tick()
        self.broker.delays.tick(self.broker.store.steady.now())
        self.broker.timers.tick(self.broker.store.steady.now())
        self.broker.pops.tick(self.broker.store.steady.now(), elapsed_millis(self.clock))
        self.broker.lites.tick(self.broker.store.steady.now(), elapsed_millis(self.clock))
        due = self.broker.holds.due(elapsed_millis(self.clock), self.broker.store.max_offset)
        resume_all(due)

    def stored(self, topic: str, queue_id: int = 0, offset: int = 0, count: int = 32) -> list[StoredMessage]:
        """What lies in a queue."""
        return split_records(self.broker.store.get(topic, queue_id, offset, count, accept=None).body)


def subscription(topic: str, expression: str = "*", version: int = 1, kind: str = "TAG") -> SubscriptionData:
    """A subscription as a client would send it."""
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
    """The header of a send with a producer's usual fields."""
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
    """The header of a pull with a consumer's usual fields."""
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
    """The body of a SEND_BATCH_MESSAGE: each message with its own properties."""
    parts = []
    for body, properties in messages:
        text = format_properties(properties).encode()
        size = 20 + len(body) + 2 + len(text)
        parts.append(b"".join(number.to_bytes(4, "big") for number in (size, 0, 0, 0, len(body))))
        parts += [body, len(text).to_bytes(2, "big"), text]
    return b"".join(parts)


def plain_message(topic: str = "T", queue_id: int = 0, body: bytes = b"x", **properties: str) -> Message:
    """A message to put into the store directly."""
    return Message(topic, queue_id, body, properties, 1_699_999_999_000, STORE_HOST, STORE_HOST)
