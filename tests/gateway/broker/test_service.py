"""The broker as it runs: timers, start and stop with a hand-moved clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from twisted.internet.defer import fail
from twisted.internet.error import CannotListenError

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import dumps, loads
from mqgateway.engine.options import (
    BrokerOptions,
    BrokerRole,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
)
from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, MemoryWorker, Worker
from mqgateway.gateway.access.signature import Credentials, is_signed
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.codec.bodies import (
    ConsumerData,
    HeartbeatData,
    ProducerData,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
)
from mqgateway.gateway.codec.codes import CURRENT_VERSION, V4_9_8, RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import (
    CreateUserRequestHeader,
    EndTransactionRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetRouteInfoRequestHeader,
    GetTopicStatsInfoRequestHeader,
)
from mqgateway.gateway.codec.version_4 import AclRequestCode, CreateAccessConfigRequestHeader
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.broker.helpers import FakePeer, pull_header, send_header, subscription
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Talker
from tests.support.topics import topic_header

NAME_SERVER = 9876
MAIN, FAST = 10911, 10909


class Client:
    """One connection to a port, by hand."""

    def __init__(self, world: World, port: int) -> None:
        self.world = world
        self.talker = Talker()
        world.net.meet(port, self.talker, ("192.168.1.1", world.next_port()))
        self.opaque = 0
        self.credentials: Credentials | None = None

    def send(
        self, code: int, header: Header | None = None, body: bytes = b"", version: int = CURRENT_VERSION
    ) -> None:
        """Send a request and let the net carry everything."""
        command = RemotingCommand.request(code, header, body)
        if self.credentials is not None:
            self.credentials.sign(command)
        self.opaque += 1
        command.opaque, command.version = self.opaque, version
        self.talker.transport.write(encode_command(command))
        self.world.net.settle()

    def ask(self, code: int, header: Header | None = None, body: bytes = b"", **more: Any) -> RemotingCommand:
        """Send a request and take its one answer."""
        self.send(code, header, body, **more)
        (answer,) = self.talker.take()
        assert answer.is_response and answer.opaque == self.opaque
        return answer

    def replies(self) -> list[RemotingCommand]:
        """The answers that have come; notices are dropped."""
        return [command for command in self.talker.take() if command.is_response]

    def answer(self, request: RemotingCommand, body: bytes) -> None:
        """Answer what the broker asked."""
        reply = RemotingCommand.response(0, body=body, request=request)
        self.talker.transport.write(encode_command(reply))
        self.world.net.settle()

    def consume(self, group: str, topic: str, client_id: str, model: str = "CLUSTERING") -> None:
        """Heartbeat as a consumer."""
        data = ConsumerData(
            group_name=group,
            consume_type="CONSUME_PASSIVELY",
            message_model=model,
            consume_from_where="CONSUME_FROM_FIRST_OFFSET",
            subscription_data_set=[subscription(topic)],
        )
        body = HeartbeatData(client_id=client_id, consumer_data_set=[data]).encode()
        assert self.ask(RequestCode.HEART_BEAT, body=body).code == 0

    def create(self, topic: str, queues: int = 1, body: bytes = b"") -> None:
        """Make a topic; with a mapping in the body a static one."""
        header = topic_header(topic, queues)
        code = RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC if body else RequestCode.UPDATE_AND_CREATE_TOPIC
        assert self.ask(code, header, body).code == 0


class World:
    """A name server and a broker on one net."""

    def __init__(
        self,
        disk: CrashDisk | None = None,
        worker: Worker | None = None,
        with_name_server: bool = True,
        role: BrokerRole = BrokerRole.ASYNC_MASTER,
        **options: Any,
    ) -> None:
        self.net = Net()
        self.clock = NetClock(self.net)
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        self.ports = 50_000
        if with_name_server:
            self.start_name_server()
        self.options = BrokerOptions(
            broker_name="b1",
            broker_ip1="10.0.0.1",
            broker_ip2="10.0.0.1",
            namesrv_addr=f"10.0.0.1:{NAME_SERVER}",
            **options,
        )
        self.store_options = StoreOptions(
            store_path_root_dir="/store", mapped_file_size_commit_log=1 << 16, broker_role=role
        )
        self.service = BrokerService(
            OptionSet(self.options, RemotingOptions(), self.store_options, TlsOptions()),
            Runtime(self.net, self.clock, self.disk, worker or InlineWorker()),
        )
        self.started: list[Any] = []
        self.stopped: list[Any] = []

    def start_name_server(self) -> None:
        options = NamesrvOptions(kv_config_path="/ns/kv.json", config_store_path="/ns/ns.properties")
        self.name_server = NameServerService(
            OptionSet(options, RemotingOptions(listen_port=NAME_SERVER), TlsOptions()),
            Runtime(self.net, self.clock, self.disk, InlineWorker()),
        )
        self.name_server.start()

    def start(self) -> World:
        self.service.start().addBoth(self.started.append)
        self.net.settle()
        return self

    def stop(self) -> World:
        self.service.stop().addBoth(self.stopped.append)
        self.net.settle()
        return self

    def next_port(self) -> int:
        self.ports += 1
        return self.ports

    def connect(self, port: int = MAIN) -> Client:
        return Client(self, port)

    def route(self, topic: str) -> Any:
        """The route the name server gives, or None."""
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        answer = self.connect(NAME_SERVER).ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        return loads(answer.body) if answer.code == 0 else None


@pytest.fixture
def world() -> World:
    return World().start()


def test_a_started_broker_is_known_to_the_name_server(world: World) -> None:
    assert world.started == [None]
    route = world.route("TBW102")
    assert route["brokerDatas"][0]["brokerAddrs"] == {"0": f"10.0.0.1:{MAIN}"}


def test_unresponsive_name_server_does_not_delay_the_start() -> None:
    world = World(with_name_server=False)
    world.net.unreachable.add(NAME_SERVER)
    world.start()
    assert world.started == []
    world.net.settle(1.5)
    assert world.started == [None]
    client = world.connect()
    client.create("T")
    assert client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"hello").code == 0


def test_restarted_name_server_receives_all_topics() -> None:
    world = World(with_name_server=False).start()
    world.connect().create("T")
    world.start_name_server()
    assert world.route("T") is None
    world.net.settle(6)
    assert world.route("T")["queueDatas"][0]["brokerName"] == "b1"


def test_new_topic_is_registered_at_once(world: World) -> None:
    world.connect().create("T", queues=3)
    assert world.route("T")["queueDatas"][0]["readQueueNums"] == 3


def test_message_is_sent_and_pulled(world: World) -> None:
    producer, consumer = world.connect(), world.connect()
    producer.create("T")
    consumer.consume("g", "T", "c")
    assert producer.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"hello").code == 0
    found = consumer.ask(RequestCode.PULL_MESSAGE, pull_header("T", group="g"))
    assert found.code == 0 and b"hello" in found.body


def test_a_held_pull_is_woken_by_a_message(world: World) -> None:
    producer, consumer = world.connect(), world.connect()
    producer.create("T")
    consumer.consume("g", "T", "c")
    consumer.send(RequestCode.PULL_MESSAGE, pull_header("T", group="g", sys_flag=2))
    assert consumer.replies() == []
    producer.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"hello")
    (found,) = consumer.replies()
    assert found.code == 0 and b"hello" in found.body


def test_held_pull_is_answered_at_its_deadline(world: World) -> None:
    consumer = world.connect()
    consumer.create("T")
    consumer.consume("g", "T", "c")
    header = pull_header("T", group="g", sys_flag=2, suspend_timeout_millis=15_000)
    consumer.send(RequestCode.PULL_MESSAGE, header)
    world.net.settle(14)
    assert consumer.replies() == []
    world.net.settle(2)
    (answer,) = consumer.replies()
    assert answer.code == ResponseCode.PULL_NOT_FOUND


def test_delayed_message_is_delivered_on_time(world: World) -> None:
    client = world.connect()
    client.create("T")
    client.consume("g", "T", "c")
    world.net.settle(5)
    client.talker.take()
    client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T", {"DELAY": "2", "UNIQ_KEY": "k"}), b"later")
    client.send(RequestCode.PULL_MESSAGE, pull_header("T", group="g", sys_flag=2))
    world.net.settle(4)
    assert client.replies() == []
    world.net.settle(2)
    (found,) = client.replies()
    assert found.code == 0 and b"later" in found.body


def test_open_transaction_is_checked_even_after_a_restart(world: World) -> None:
    client = world.connect()
    client.create("T")
    half = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "k"}
    now = world.clock.millis()
    for body in (b"ended", b"open"):
        header = send_header("T", half, sys_flag=4, born_timestamp=now)
        sent = client.ask(RequestCode.SEND_MESSAGE_V2, header, body).ext_fields
        if body == b"ended":
            client.ask(RequestCode.END_TRANSACTION, end_header(sent["queueOffset"], sent["msgId"][-16:]))
    world.stop()
    again = World(disk=world.disk).start()
    client = again.connect()
    heartbeat = HeartbeatData(client_id="p", producer_data_set=[ProducerData(group_name="PG")])
    assert client.ask(RequestCode.HEART_BEAT, body=heartbeat.encode()).code == 0
    again.net.settle(32)
    (question,) = client.talker.take()
    assert question.code == RequestCode.CHECK_TRANSACTION_STATE and b"open" in question.body
    fields = question.ext_fields
    where = f"{int(fields['commitLogOffset']):x}"
    client.ask(RequestCode.END_TRANSACTION, end_header(fields["tranStateTableOffset"], where))
    assert again.service.broker.store.max_offset("T", 0) == 2
    again.net.settle(10)
    counts = loads(again.disk.read_bytes("/store/config/transactionMetrics"))["transactionCount"]
    assert counts["T"]["count"] == 0


def end_header(queue_offset: str, physical_offset: str) -> EndTransactionRequestHeader:
    """A commit, whose log offset is given in hex."""
    return EndTransactionRequestHeader(
        producer_group="PG",
        tran_state_table_offset=int(queue_offset),
        commit_log_offset=int(physical_offset, 16),
        commit_or_rollback=8,
        msg_id="k",
    )


def test_changed_members_are_notified(world: World) -> None:
    one, two = world.connect(), world.connect()
    one.consume("g", "T", "one")
    two.consume("g", "T", "two")
    world.net.settle(0.5)
    for client in (one, two):
        (notice,) = client.talker.take()
        assert notice.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED and notice.is_oneway
        assert notice.ext_fields["consumerGroup"] == "g"
    two.talker.transport.abortConnection()
    world.net.settle(0.5)
    (notice,) = one.talker.take()
    assert notice.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED


def test_notifications_of_members_can_be_delayed() -> None:
    world = World()
    world.options.real_time_notify_consumer_change = False
    client = world.start().connect()
    client.consume("g", "T", "c")
    world.net.settle(14)
    assert client.talker.take() == []
    world.net.settle(2)
    assert len(client.talker.take()) == 1


def test_silent_client_is_removed_and_closed(world: World) -> None:
    client = world.connect()
    client.consume("g", "T", "c")
    for _ in range(26):
        world.net.settle(5)
        if client.talker.lost is None:  # the connection is not idle, but no heartbeat comes
            client.send(RequestCode.GET_BROKER_CONFIG)
    assert world.service.broker.clients.consumer_groups == {}
    assert client.talker.lost is not None


def test_offsets_of_broadcasting_clients_are_collected(world: World) -> None:
    """Every few seconds, for clients that come by another road."""
    client = world.connect()
    client.create("T")
    client.consume("g", "T", "c", model="BROADCASTING")
    for _ in range(3):
        client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"hello")
    client.ask(RequestCode.PULL_MESSAGE, pull_header("T", group="g", offset=2))
    world.net.settle(6)
    assert world.service.broker.tables.offsets.query("g@broadcast", "T", 0) == 2


def test_lagging_group_is_rejected_and_cold_reads_restart(world: World) -> None:
    broker = world.service.broker
    broker.tables.groups.find("g")
    world.options.disable_consume_if_consumer_read_slowly = True
    broker.consume.slow_consumers.note("g", "T", 0, 1 << 40)
    broker.consume.cold_reads.read("g", 5)
    world.net.settle(6)
    assert broker.consume.cold_reads.to_json()["globalAcc"] == 0
    group = broker.tables.groups.get("g")
    assert group is not None and group.consume_enable
    world.net.settle(180)
    group = broker.tables.groups.get("g")
    assert group is not None and not group.consume_enable


def test_queues_are_assigned_by_the_name_servers_route(world: World) -> None:
    """Another broker's queues too; they are looked up again after a while."""
    client = world.connect()
    client.create("T", queues=2)
    client.consume("g", "T", "c")
    reported = QueryAssignmentRequestBody("T", "g", "c", "AVG", "CLUSTERING").encode()

    def count() -> int:
        client.talker.take()
        answer = client.ask(RequestCode.QUERY_ASSIGNMENT, body=reported)
        assignments = QueryAssignmentResponseBody.decode(answer.body).message_queue_assignments
        return len(assignments or ())

    client.send(RequestCode.QUERY_ASSIGNMENT, body=reported)
    world.net.settle(0.5)
    assert count() == 2
    client.create("T", queues=5)
    world.net.settle(31)
    assert count() == 5


def test_static_topic_is_routed_cleaned_and_survives_a_restart(world: World) -> None:
    """Here both mapping items are the broker's own; the first has no messages."""
    items = [MappingItem(0, 0, "b1", 0), MappingItem(1, 1, "b1", 10_000)]
    mapping = TopicQueueMappingDetail("S", "b1", 1, 5, queues={0: items})
    world.connect().create("S", queues=2, body=dumps(mapping.to_json()))
    world.net.settle(0.1)
    assert world.route("S")["topicQueueMappingByBroker"]["b1"]["currIdMap"] == {"0": 1}
    hour = datetime.fromtimestamp(world.clock.millis() / 1000).hour
    world.service.broker.store_options.delete_when = str((hour + 2) % 24)
    world.net.settle(600)
    assert world.service.broker.tables.mappings.table["S"].queues == {0: items}
    world.service.broker.store_options.delete_when = f"{hour};{(hour + 1) % 24}"
    world.net.settle(301)
    assert world.service.broker.tables.mappings.table["S"].queues == {0: items[1:]}
    again = World(disk=world.stop().disk).start()
    assert again.service.broker.tables.mappings.table["S"].queues == {0: items[1:]}


def test_requests_over_the_waiting_limit_are_counted(world: World) -> None:
    client = world.connect()
    frame = world.service.dispatcher.refuse(
        RemotingCommand.request(RequestCode.PULL_MESSAGE), FakePeer("10.0.0.9:1")
    )
    assert frame is not None
    assert client.ask(RequestCode.GET_BROKER_RUNTIME_INFO).code == 0
    assert world.service.broker.flow_control.totals == {"requests in flight": 1}


def test_request_to_a_consumer_is_forwarded(world: World) -> None:
    admin, consumer = world.connect(), world.connect()
    consumer.consume("g", "T", "c")
    world.net.settle(0.5)
    consumer.talker.take()
    header = GetConsumerRunningInfoRequestHeader(consumer_group="g", client_id="c")
    admin.send(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
    (question,) = consumer.talker.take()
    consumer.answer(question, b"running")
    (answer,) = admin.talker.take()
    assert (answer.code, answer.body) == (0, b"running")


def test_unresponsive_consumer_times_out_after_ten_seconds(world: World) -> None:
    admin, consumer = world.connect(), world.connect()
    consumer.consume("g", "T", "c")
    admin.send(
        RequestCode.GET_CONSUMER_RUNNING_INFO,
        GetConsumerRunningInfoRequestHeader(consumer_group="g", client_id="c"),
    )
    world.net.settle(9)
    assert admin.talker.take() == []
    world.net.settle(2)
    (answer,) = admin.talker.take()
    assert answer.code == ResponseCode.CONSUME_MSG_TIMEOUT


def test_fast_port_serves_all_requests_except_pulls(world: World) -> None:
    fast = world.connect(FAST)
    fast.create("T")
    assert fast.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"hello").code == 0
    for code in (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE):
        refused = fast.ask(code, pull_header("T"))
        assert (refused.code, refused.remark) == (3, f" request type {code} not supported")


@pytest.mark.parametrize("code", [RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.REGISTER_BROKER, 31_999])
def test_unsupported_request_is_refused(world: World, code: int) -> None:
    refused = world.connect().ask(code)
    assert (refused.code, refused.remark) == (3, f" request type {int(code)} not supported")


def test_restart_restores_all_state(world: World) -> None:
    client = world.connect()
    client.create("T")
    client.consume("g", "T", "c")
    client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"hello")
    client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T", {"DELAY": "1", "UNIQ_KEY": "k"}), b"later")
    world.service.broker.tables.offsets.commit("g", "T", 0, 1)
    world.stop()
    assert world.stopped == [None]
    assert not world.disk.exists("/store/abort"), "the store was closed in order"
    again = World(disk=world.disk).start()
    broker = again.service.broker
    assert broker.tables.topics.get("T") is not None
    assert broker.tables.groups.get("g") is not None
    assert broker.tables.offsets.query("g", "T", 0) == 1
    assert broker.store.max_offset("T", 0) == 1
    again.net.settle(2)
    assert broker.store.max_offset("T", 0) == 2, "the delayed message came"


def test_offsets_are_written_while_running(world: World) -> None:
    world.service.broker.tables.offsets.commit("g", "T", 0, 5)
    world.net.settle(6)
    assert loads(world.disk.read_bytes("/store/config/consumerOffset.json"))["offsetTable"] == {"T@g": {0: 5}}


def test_stop_unregisters_and_answers_held_pulls(world: World) -> None:
    client = world.connect()
    client.create("T")
    client.consume("g", "T", "c")
    client.send(RequestCode.PULL_MESSAGE, pull_header("T", group="g", sys_flag=2), version=V4_9_8)
    world.stop()
    assert world.route("TBW102") is None
    world.net.settle(1)
    assert [answer.code for answer in client.replies()] == [ResponseCode.PULL_NOT_FOUND]
    assert client.talker.lost is not None
    assert world.stopped == [None]


def test_a_stop_waits_for_the_worker() -> None:
    """Tables are written by the worker; the store is closed once it has finished."""
    worker = MemoryWorker()
    world = World(worker=worker)
    world.start()
    client = world.connect()
    client.create("T")
    world.stop()
    world.net.settle(1)
    assert world.stopped == []
    for _ in range(100):
        worker.perform_all()
        world.net.settle(0.5)
    assert world.stopped == [None]
    assert "T" in loads(world.disk.read_bytes("/store/config/topics.json"))["topicConfigTable"]


def test_stop_leaves_no_pending_calls(world: World) -> None:
    world.connect().consume("g", "T", "c")
    world.stop()
    world.net.settle(2)
    world.name_server.stop()
    world.net.settle(2)
    assert world.net.getDelayedCalls() == []
    assert world.service.stop().called, "a second stop has nothing to wait for"


def test_a_broker_that_never_started_stops() -> None:
    world = World()
    world.stop()
    assert world.stopped == [None]


class Hasty:
    """A clock that advances with every reading, so that cooperative tasks yield after each step."""

    def __init__(self, net: Net) -> None:
        self._net, self._looks = net, 0

    def millis(self) -> int:
        return int(self._net.seconds() * 1000)

    def monotonic(self) -> float:
        self._looks += 1
        return self._net.seconds() + self._looks


def killed_with_messages() -> CrashDisk:
    """The disk of a broker that was killed, with 300 messages in some files of its log."""
    world = World().start()
    client = world.connect()
    client.create("T")
    for _ in range(300):
        assert client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), bytes(500)).code == 0
    return world.disk.kill()


def test_recovery_yields_to_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(disk=killed_with_messages())
    world.service.broker.clock = Hasty(world.net)
    read: list[float | None] = []
    call_later = world.net.callLater

    def noted(*given: Any, **named: Any) -> Any:
        if MAIN not in world.net.ports:
            read.append(world.service.recovered)
        return call_later(*given, **named)

    monkeypatch.setattr(world.net, "callLater", noted)
    world.service.start().addBoth(world.started.append)
    assert world.started == [] and MAIN not in world.net.ports
    world.net.settle()
    assert world.started == [None]
    assert world.service.broker.store.max_offset("T", 0) == 300
    assert read[0] is None and len(read) > 300 / 64
    parts = [part for part in read if part is not None]
    assert parts == sorted(parts) and parts[0] == 0.0 < parts[-1] < 1.0


def test_stop_waits_for_the_recovery() -> None:
    world = World(disk=killed_with_messages())
    world.service.broker.clock = Hasty(world.net)
    world.service.start().addBoth(world.started.append)
    world.service.stop().addBoth(world.stopped.append)
    assert MAIN not in world.net.ports and world.stopped == []
    world.net.settle(2)
    assert world.stopped == [None]
    assert MAIN not in world.net.ports
    assert not world.disk.exists("/store/abort")


def test_store_in_use_fails_the_start(world: World) -> None:
    other = World(disk=world.disk)
    other.start()
    (failure,) = other.started
    assert "in use" in failure.getErrorMessage()
    assert MAIN not in other.net.ports


@pytest.mark.parametrize("port", [MAIN, FAST])
def test_port_in_use_fails_the_start_and_releases_ports_and_store(port: int) -> None:
    world = World()
    world.net.taken.add(port)
    world.start()
    (failure,) = world.started
    failure.trap(CannotListenError)
    assert set(world.net.ports) == {NAME_SERVER}
    world.name_server.stop()
    assert not [call for call in world.net.getDelayedCalls() if call.active()]
    assert not world.disk.exists("/store/abort")
    assert world.stop().stopped == [None]
    assert World(disk=world.disk).start().started == [None]


def test_failure_before_registration_fails_the_start() -> None:
    """As where the name server of the process cannot listen."""
    world = World()
    world.service._before_registering = lambda: fail(ConfigError("no name server"))
    world.start()
    (failure,) = world.started
    failure.trap(ConfigError)
    assert set(world.net.ports) == {NAME_SERVER}
    assert World(disk=world.disk).start().started == [None]


def test_free_port_is_found_with_the_fast_port_below() -> None:
    service_with_any_port = BrokerService(
        OptionSet(
            BrokerOptions(broker_name="b", broker_ip1="127.0.0.1", listen_port=0),
            RemotingOptions(bind_address="127.0.0.1"),
            StoreOptions(store_path_root_dir="/store"),
            TlsOptions(),
        ),
        Runtime(Net(), NetClock(Net()), CrashDisk(), InlineWorker()),
    )
    assert service_with_any_port.port > 1024
    assert service_with_any_port.fast_port == service_with_any_port.port - 2


def test_idle_broker_ticks_less_often(world: World) -> None:
    ticks: list[float] = []
    store = world.service.broker.store
    tick = store.tick
    store.tick = lambda: (ticks.append(world.net.seconds()), tick())[1]  # type: ignore[method-assign]

    def in_two_seconds() -> int:
        ticks.clear()
        for _ in range(40):
            world.net.advance(0.05)
        return len(ticks)

    in_two_seconds()
    assert in_two_seconds() <= 6
    client = world.connect()
    client.create("T")
    client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T", {"DELAY": "3", "UNIQ_KEY": "k"}), b"later")
    in_two_seconds()
    assert in_two_seconds() >= 18, "something waits for its delay"


def making(world: World) -> Client:
    """A producer whose sends make their topics."""
    world.options.auto_create_topic_enable = True
    return world.connect()


def test_send_that_creates_a_topic_is_answered_once_it_is_registered(world: World) -> None:
    producer = making(world)
    assert producer.ask(RequestCode.SEND_MESSAGE_V2, send_header("new"), b"hello").code == 0
    assert world.route("new") is not None


def test_send_that_creates_a_topic_skips_unreachable_name_servers(world: World) -> None:
    producer = making(world)
    world.name_server.stop()
    world.net.settle()
    assert producer.ask(RequestCode.SEND_MESSAGE_V2, send_header("new"), b"hello").code == 0


def test_send_that_creates_a_topic_waits_at_most_a_second(world: World) -> None:
    producer = making(world)
    for pair in world.net.pairs:
        pair.server.stuck = pair.server.host.port == NAME_SERVER
    producer.send(RequestCode.SEND_MESSAGE_V2, send_header("new"), b"hello")
    assert producer.replies() == []
    producer.send(RequestCode.SEND_MESSAGE_V2, send_header("new"), b"hello")
    assert [reply.opaque for reply in producer.replies()] == [2], "the topic is there"
    world.net.settle(1.5)
    assert [(reply.opaque, reply.code) for reply in producer.replies()] == [(1, 0)]


ACCESS: dict[str, Any] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "init_authentication_user": '{"username":"root","password":"root\'s"}',
    "inner_client_authentication_credentials": '{"accessKey":"inner","secretKey":"inner\'s"}',
}


def test_access_control_guards_both_ports() -> None:
    world = World(**ACCESS).start()
    assert world.started == [None]
    for port in (MAIN, FAST):
        client = world.connect(port)
        answer = client.ask(RequestCode.GET_BROKER_CONFIG)
        assert (answer.code, answer.remark) == (16, "username cannot be null.")
        client.credentials = Credentials("root", "root's")
        assert client.ask(RequestCode.GET_BROKER_CONFIG).code == 0
        client.consume("G", "TBW102", "c1")


def test_users_survive_a_restart() -> None:
    world = World(**ACCESS).start()
    client = world.connect()
    client.credentials = Credentials("root", "root's")
    header = CreateUserRequestHeader(username="bob")
    body = b'{"password":"bob\'s","userType":"Super"}'
    assert client.ask(RequestCode.AUTH_CREATE_USER, header, body).code == 0
    world.stop()
    assert world.stopped == [None]
    again = World(world.disk, **ACCESS).start()
    client = again.connect()
    client.credentials = Credentials("bob", "bob's")
    assert client.ask(RequestCode.GET_BROKER_CONFIG).code == 0


def test_broker_signs_its_requests() -> None:
    seen: list[RemotingCommand] = []
    world = World(**ACCESS)

    def look(command: RemotingCommand, peer: Any, serve: Any) -> Any:
        seen.append(command)
        return serve(command, peer)

    world.name_server.dispatcher.intercept_with(look)
    world.start()
    assert seen and all(is_signed(command, "inner's") for command in seen)


def test_contradictory_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="authorizationEnabled without authenticationEnabled"):
        World(authorization_enabled=True)


PLAIN: dict[str, Any] = {"acl_enable": True, "rocketmq_home": "/rmq"}
PLAIN_FILE = "/rmq/conf/plain_acl.yml"
ACCOUNTS = b"""
accounts:
- {accessKey: the-admin, secretKey: admin-secret, admin: true}
- {accessKey: the-reader, secretKey: reader-secret, topicPerms: [TBW102=SUB], groupPerms: [G=SUB]}
"""


def disk_with(path: str, content: bytes) -> CrashDisk:
    disk = CrashDisk()
    write_table(disk, path, content)
    return disk


def test_version_4_accounts_guard_both_ports() -> None:
    world = World(disk_with(PLAIN_FILE, ACCOUNTS), **PLAIN).start()
    assert world.started == [None]
    for port in (MAIN, FAST):
        client = world.connect(port)
        answer = client.ask(RequestCode.GET_BROKER_CONFIG)
        assert (answer.code, "No accessKey is configured" in (answer.remark or "")) == (1, True)
        client.credentials = Credentials("the-reader", "reader-secret")
        client.consume("G", "TBW102", f"c{port}")
        body = b'{"clientID":"c","consumerDataSet":[{"groupName":"other","subscriptionDataSet":[]}]}'
        assert "group:other" in (client.ask(RequestCode.HEART_BEAT, body=body).remark or "")


def test_version_4_accounts_change_by_request_and_by_file() -> None:
    disk = disk_with(PLAIN_FILE, ACCOUNTS)
    world = World(disk, **PLAIN).start()
    client = world.connect()
    client.credentials = Credentials("the-admin", "admin-secret")
    header = CreateAccessConfigRequestHeader(access_key="another", secret_key="another-secret")
    assert client.ask(AclRequestCode.UPDATE_AND_CREATE_ACL_CONFIG, header).code == 0
    other = world.connect()
    other.credentials = Credentials("another", "another-secret")
    shown = RequestCode.GET_TOPIC_STATS_INFO
    stats = GetTopicStatsInfoRequestHeader(topic="TBW102")
    assert other.ask(shown, stats).code == 0
    write_table(disk, PLAIN_FILE, ACCOUNTS)
    world.net.advance(5)
    assert "No acl config for another" in (other.ask(shown, stats).remark or "")
    world.stop()
    assert world.stopped == [None]


def test_accounts_of_version_4_become_users() -> None:
    more = {**ACCESS, "rocketmq_home": "/rmq", "migrate_auth_from_v1_enabled": True}
    world = World(disk_with(PLAIN_FILE, ACCOUNTS), **more).start()
    client = world.connect()
    client.credentials = Credentials("the-reader", "reader-secret")
    client.consume("G", "TBW102", "c")
    assert client.ask(RequestCode.GET_BROKER_CONFIG).code == 16
    client.credentials = Credentials("the-admin", "admin-secret")
    assert client.ask(RequestCode.GET_BROKER_CONFIG).code == 0


def test_both_kinds_of_accounts_or_a_bad_file_fail_the_start() -> None:
    with pytest.raises(ConfigError, match="there can be only one"):
        World(**ACCESS, **PLAIN)
    world = World(disk_with(PLAIN_FILE, b"accounts:\n- {accessKey: abc}\n"), **PLAIN).start()
    (failure,) = world.started
    assert isinstance(failure.value, ConfigError) and f"{PLAIN_FILE}:2: " in str(failure.value)


def test_without_access_control_accounts_are_unknown_requests(world: World) -> None:
    assert [world.connect().ask(code).code for code in AclRequestCode] == [3] * 5


def test_requests_pass_without_access_control(world: World) -> None:
    assert world.service.broker.access is None
    assert world.connect().ask(RequestCode.GET_BROKER_CONFIG).code == 0
    assert not [name for name in world.disk.listdir("/store/config") if name.startswith(("users", "acls"))]
