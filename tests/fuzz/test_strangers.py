"""Actions open to an anonymous client of each server, and their table in `docs/security.md`.

Each action is tried on servers in memory, with access control and without it; the outcomes must be those of
the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mqgateway.engine.ha.frames import encode_report
from mqgateway.engine.options import OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.container.service import ContainerService
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.runtime.service import Runtime
from tests.fuzz.test_signatures import ACCESS, CONTAINER_PORT, asking
from tests.fuzz.world import BROKER_PORT, GRPC_PORT, NAMESRV_PORT, World
from tests.support.gateway.broker.helpers import send_header
from tests.support.gateway.container.fakes import FakeLaunch
from tests.support.gateway.controller.world import ControllerWorld
from tests.support.gateway.grpc.client import NetClient, framed, messages
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Talker

DOCUMENT = Path(__file__).parents[2] / "docs" / "security.md"
HA_PORT = BROKER_PORT + 1
REGISTERED = "10.0.0.1:10911"


def codes(world: World, port: int, *requests: RemotingCommand) -> list[int]:
    """Return the codes of the answers to an anonymous client."""
    ask = asking(world.net, port, world.settle)
    return [ask(request).code for request in requests]


def request(
    code: int, header: headers.Header | None = None, body: bytes = b"", **ext: str
) -> RemotingCommand:
    return RemotingCommand.request(code, header, body, ext=ext)


def registers(address: str, broker_id: int) -> RemotingCommand:
    header = headers.RegisterBrokerRequestHeader(
        broker_name="broker-a",
        broker_addr=address,
        cluster_name="DefaultCluster",
        ha_server_addr="192.168.6.6:10912",
        broker_id=broker_id,
    )
    body = (
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{},"dataVersion":{"counter":9,"timestamp":9}}}'
    )
    return request(RequestCode.REGISTER_BROKER, header, body)


def looks_around(world: World) -> bool:
    route = headers.GetRouteInfoRequestHeader(topic="broker-a")
    wanted = (
        request(RequestCode.GET_ROUTEINFO_BY_TOPIC, route),
        request(RequestCode.GET_BROKER_CLUSTER_INFO),
        request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER),
    )
    return 0 in codes(world, NAMESRV_PORT, *wanted)


def takes_a_name(world: World) -> bool:
    codes(world, NAMESRV_PORT, registers("192.168.6.6:10911", 0), registers(REGISTERED, 0))
    tables = world.namesrv.namesrv.tables
    world.settle(1.0)
    is_as_before = tables.brokers["broker-a"].broker_addrs.get(0) == REGISTERED
    return not is_as_before or any(live.host == "192.168.6.6" for live in tables.live.values())


def takes_leave(world: World) -> bool:
    header = headers.UnRegisterBrokerRequestHeader(
        broker_name="broker-a", broker_addr=REGISTERED, cluster_name="DefaultCluster", broker_id=0
    )
    codes(world, NAMESRV_PORT, request(RequestCode.UNREGISTER_BROKER, header))
    world.settle(1.0)
    return "broker-a" not in world.namesrv.namesrv.tables.brokers


def joins_a_group(world: World) -> bool:
    codes(world, NAMESRV_PORT, registers("192.168.6.6:10911", 7))
    return 7 in world.namesrv.namesrv.tables.brokers["broker-a"].broker_addrs


def administers_names(world: World) -> bool:
    wipe = headers.WipeWritePermOfBrokerRequestHeader(broker_name="broker-a")
    delete = headers.DeleteTopicFromNamesrvRequestHeader(topic="TBW102")
    put = headers.PutKVConfigRequestHeader(namespace="n", key="k", value="v")
    wanted = (
        request(RequestCode.WIPE_WRITE_PERM_OF_BROKER, wipe),
        request(RequestCode.DELETE_TOPIC_IN_NAMESRV, delete),
        request(RequestCode.PUT_KV_CONFIG, put),
        request(RequestCode.UPDATE_NAMESRV_CONFIG, body=b"enableTopicList=true"),
    )
    return 0 in codes(world, NAMESRV_PORT, *wanted)


def sends_and_reads(world: World) -> bool:
    send = request(RequestCode.SEND_MESSAGE_V2, send_header("TBW102"), b"hello")
    look = request(RequestCode.GET_MAX_OFFSET, headers.GetMaxOffsetRequestHeader(topic="TBW102", queue_id=0))
    return 0 in codes(world, BROKER_PORT, send, look) + codes(world, BROKER_PORT - 2, send, look)


def calls_by_grpc(world: World) -> bool:
    """Request a route, register as a producer, and send."""
    client = NetClient(lambda: world.settle(5.0))
    world.net.meet(GRPC_PORT, client, ("192.168.6.6", 30_000))
    world.broker.tables.topics.put(TopicConfig(topic_name="T", read_queue_nums=1, write_queue_nums=1))
    topic = v2.Resource(name="T")
    properties = v2.SystemProperties(message_id="0102FC0000000139F10B14BF1200000000")
    message = v2.Message(topic=topic, body=b"hello", system_properties=properties)
    settings = v2.Settings(client_type=v2.ClientType.PRODUCER, publishing=v2.Publishing(topics=[topic]))
    found = []
    for method, asked, answer in (
        ("QueryRoute", v2.QueryRouteRequest(topic=topic), v2.QueryRouteResponse),
        ("Telemetry", v2.TelemetryCommand(settings=settings), v2.TelemetryCommand),
        ("SendMessage", v2.SendMessageRequest(messages=[message]), v2.SendMessageResponse),
    ):
        stream = client.open(f"/apache.rocketmq.v2.MessagingService/{method}", x_mq_client_id="stranger")
        client.h2.send_data(stream, framed(asked.SerializeToString()), end_stream=method != "Telemetry")
        client.pump()
        found += [answer.FromString(one).status.code for one in messages(client.answers[stream].data)]
    assert len(found) == 3
    return v2.Code.OK in found


def administers_the_broker(world: World) -> bool:
    wanted = (
        request(RequestCode.UPDATE_BROKER_CONFIG, body=b"fileReservedTime=0"),
        request(RequestCode.GET_BROKER_CONFIG),
        request(RequestCode.GET_ALL_CONSUMER_OFFSET),
    )
    return 0 in codes(world, BROKER_PORT, *wanted) + codes(world, BROKER_PORT - 2, *wanted)


def reads_the_log(world: World) -> bool:
    return any(len(talker.got) > 12 for talker in _slaves(world, 1))


def acts_as_a_slave(world: World) -> bool:
    """Acknowledge data without having it, or occupy the slots of real slaves."""
    _slaves(world, world.store_options.ha_max_slaves)
    server = world.service.group.replication.server
    return bool(server.connections or server.replicas.feeds)


class Slave(Talker):
    """An anonymous connection to the port for slaves, with the bytes it got."""

    got = b""

    def dataReceived(self, data: bytes) -> None:
        self.got += data


def _slaves(world: World, count: int) -> list[Slave]:
    slaves = [Slave() for _ in range(count)]
    for number, slave in enumerate(slaves):
        world.net.meet(HA_PORT, slave, ("192.168.6.6", 30_000 + number))
        slave.transport.write(encode_report(0))
    world.settle(1.0)
    return slaves


def commands_a_controller(access: dict[str, Any]) -> bool:
    world = ControllerWorld(**access)
    ask = asking(world.net, 9878, world.net.settle)
    header = headers.GetNextBrokerIdRequestHeader(cluster_name="c", broker_name="b")
    wanted = (
        request(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, header),
        request(RequestCode.GET_CONTROLLER_CONFIG),
    )
    return 0 in [ask(one).code for one in wanted]


def commands_a_container(access: dict[str, Any]) -> bool:
    net = Net()
    service = ContainerService(
        OptionSet(ContainerOptions(**access), RemotingOptions(listen_port=CONTAINER_PORT), TlsOptions()),
        Runtime(net, NetClock(net), CrashDisk()),
        launch=FakeLaunch(),
        default_name="host",
    )
    service.start()
    ask = asking(net, CONTAINER_PORT, net.settle)
    return 0 in [
        ask(request(code)).code
        for code in (RequestCode.GET_BROKER_CONFIG, RequestCode.GET_BROKER_RUNTIME_INFO)
    ]


DEEDS: list[tuple[str, str, Callable[[World], bool]]] = [
    ("name server", "look up routes, topics and brokers", looks_around),
    ("name server", "take the name or the address of a live broker", takes_a_name),
    ("name server", "unregister a live broker", takes_leave),
    ("name server", "join a group as a slave", joins_a_group),
    ("name server", "wipe permissions, delete topics, change settings", administers_names),
    ("broker, both ports", "send and read messages", sends_and_reads),
    ("broker, both ports", "change settings, see all offsets", administers_the_broker),
    ("gRPC, every port", "look up routes, send messages", calls_by_grpc),
    ("port for slaves", "read the log", reads_the_log),
    ("port for slaves", "acknowledge for a slave, keep slaves out", acts_as_a_slave),
]
ELSEWHERE: list[tuple[str, str, Callable[[dict[str, Any]], bool]]] = [
    ("controller", "make masters, change settings", commands_a_controller),
    ("container", "add and remove brokers, change settings", commands_a_container),
]


def measured() -> list[tuple[str, ...]]:
    """Return a row for each action: server, action, outcome without access control and with it."""
    rows = []
    for where, what, deed in DEEDS:
        outcomes = []
        for access in ({}, ACCESS):
            with World(**access) as world:
                outcomes.append(deed(world))
        rows.append((where, what, *map(_word, outcomes)))
    for where, what, command in ELSEWHERE:
        rows.append((where, what, _word(command({})), _word(command(ACCESS))))
    return rows


def _word(can: bool) -> str:
    return "yes" if can else "no"


def test_document_lists_the_rights_of_anonymous_callers() -> None:
    text = DOCUMENT.read_text()
    result = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (yes|no) \| (yes|no) \|$", text, re.MULTILINE)
    rows = measured()
    assert result == rows, "\n".join("| " + " | ".join(row) + " |" for row in rows)
    assert {row[3] for row in rows} == {"no"}
