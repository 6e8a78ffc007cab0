"""Every request of the name server, as bytes in and bytes out."""

import json
import struct
import zlib
from typing import Any

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.namesrv import requests
from tests.support.gateway.namesrv.brokers import HA, MASTER, NOW, OTHER, SLAVE, key
from tests.support.gateway.namesrv.world import Client, World, json_of

FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
GO_CLIENT = 317
JAVA_4_9_3 = 399
JAVA_4_9_4 = 401


def data_version(counter: int = 1, state: int = 0) -> dict[str, int]:
    return {"counter": counter, "stateVersion": state, "timestamp": NOW}


def topic_config(name: str, perm: int = 6, queues: int = 8, flag: int = 0) -> dict[str, Any]:
    return {
        "attributes": {},
        "order": False,
        "perm": perm,
        "readQueueNums": queues,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": flag,
        "writeQueueNums": queues,
    }


def register_body(
    *topics: str | dict[str, Any], counter: int = 1, state: int = 0, mappings: object = None
) -> bytes:
    """Return the body of a registration as written by a 5.x broker."""
    configs = [topic_config(one) if isinstance(one, str) else one for one in topics or ("T1", "T2")]
    wrapper = {
        "dataVersion": data_version(counter, state),
        "mappingDataVersion": data_version(0),
        "topicConfigTable": {config["topicName"]: config for config in configs},
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": mappings or {},
    }
    return json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}).encode()


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def compressed_body(*topics: str, mappings: tuple[dict[str, Any], ...] = ()) -> bytes:
    """Return the body of a registration as compressed by a 5.x broker."""
    parts = [block(json.dumps(data_version()).encode()), struct.pack(">i", len(topics))]
    parts += [block(f"{topic} 4 4 6 SINGLE_TAG {{}}".encode()) for topic in topics]
    parts += [block(b"[]"), struct.pack(">i", len(mappings))]
    parts += [block(json.dumps(mapping).encode()) for mapping in mappings]
    return zlib.compress(b"".join(parts), 9)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def client(world: World) -> Client:
    return world.connect()


def refusal(answer: RemotingCommand) -> tuple[int, str | None]:
    return answer.code, answer.remark


# 105


def test_route_has_exact_bytes(client: Client) -> None:
    client.register(register_body())
    answer = client.route("T1")
    assert refusal(answer) == (0, None)
    assert answer.body == (
        b'{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"b1","cluster":"c1",'
        b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"b1","perm":6,'
        b'"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}'
    )


@pytest.mark.parametrize(
    ("version", "ext", "quoted"),
    [
        (JAVA_4_9_4, {}, True),
        (JAVA_4_9_3, {}, False),
        (GO_CLIENT, {}, False),
        (GO_CLIENT, {"acceptStandardJsonOnly": "true"}, True),
        (GO_CLIENT, {"acceptStandardJsonOnly": "false"}, False),
    ],
)
def test_integer_keys_are_bare_for_old_and_go_clients(
    client: Client, version: int, ext: dict[str, str], quoted: bool
) -> None:
    client.register(register_body())
    key = b'"brokerAddrs":{"0":' if quoted else b'"brokerAddrs":{0:'
    for _ in range(2):  # the second answer is the kept one
        body = client.route("T1", version=version, ext=ext).body
        assert key in body
        assert b" " not in body


def test_unknown_topic_has_no_route(client: Client) -> None:
    answer = client.route("nowhere")
    assert refusal(answer) == (
        ResponseCode.TOPIC_NOT_EXIST,
        f"No topic route info in name server for the topic: nowhere{FAQ}",
    )


def test_unknown_topics_leave_no_state(world: World, client: Client) -> None:
    """With a small number, which would show a leak as well."""
    for number in range(300):
        client.route(f"nowhere{number}")
    tables = world.namesrv.tables
    assert not tables.encoded and not tables.topic_queues and not tables.mappings


def test_no_routes_until_service_has_waited(world: World, client: Client) -> None:
    world.options.need_wait_for_service = True
    client.register(register_body())
    world.net.settle(44)
    assert refusal(client.route("T1")) == (1, "name server not ready")
    world.net.settle(2)
    assert client.route("T1").code == 0


def test_route_has_order_of_ordered_topic_only_when_configured(world: World, client: Client) -> None:
    client.register(register_body())
    put_kv(client, "ORDER_TOPIC_CONFIG", "T1", "b1:8")
    assert "orderTopicConf" not in json_of(client.route("T1"))
    world.options.order_message_enable = True
    assert json_of(client.route("T1"))["orderTopicConf"] == "b1:8"
    assert "orderTopicConf" not in json_of(client.route("T2"))


def test_route_follows_every_change(client: Client) -> None:
    client.register(register_body())
    assert json_of(client.route("T1"))["queueDatas"][0]["writeQueueNums"] == 8
    client.register(register_body(topic_config("T1", queues=3), "T2", counter=2))
    assert json_of(client.route("T1"))["queueDatas"][0]["writeQueueNums"] == 3
    client.register(register_body(), broker_id=1, broker_addr=SLAVE)
    assert json_of(client.route("T1"))["brokerDatas"][0]["brokerAddrs"] == {"0": MASTER, "1": SLAVE}


def test_client_gets_brokers_of_its_zone(client: Client) -> None:
    client.register(register_body(), ext={"__ZONE_NAME": "east"})
    client.register(register_body(), broker_name="b2", broker_addr=OTHER, ext={"__ZONE_NAME": "west"})

    def brokers(**ext: str) -> list[str]:
        route = json_of(client.route("T1", ext=ext))
        names = [queues["brokerName"] for queues in route["queueDatas"]]
        assert sorted(names) == sorted(group["brokerName"] for group in route["brokerDatas"])
        return sorted(names)

    assert brokers() == ["b1", "b2"]
    assert brokers(__ZONE_MODE="true", __ZONE_NAME="EAST") == ["b1"]
    assert brokers(__ZONE_MODE="false", __ZONE_NAME="east") == ["b1", "b2"]
    assert brokers(__ZONE_MODE="true", __ZONE_NAME=" ") == ["b1", "b2"]
    assert brokers(__ZONE_MODE="true", __ZONE_NAME="north") == []


# 103


def test_registration_is_answered_with_order_configuration(world: World, client: Client) -> None:
    assert client.register(register_body()).body == b""
    put_kv(client, "ORDER_TOPIC_CONFIG", "T1", "b1:8")
    assert json_of(client.register(register_body())) == {"table": {"T1": "b1:8"}}
    world.options.return_order_topic_config_to_broker = False
    assert client.register(register_body()).body == b""


def test_slave_gets_address_of_master(client: Client) -> None:
    assert client.register(register_body()).ext_fields == {}
    answer = client.register(register_body(), broker_id=1, broker_addr=SLAVE, ha_server_addr="x:1")
    assert answer.ext_fields == {"haServerAddr": HA, "masterAddr": MASTER}


def test_damaged_registration_is_refused(world: World, client: Client) -> None:
    answer = client.register(register_body(), body_crc32=12345)
    assert refusal(answer) == (ResponseCode.SYSTEM_ERROR, "crc32 not match")
    assert not world.namesrv.tables.live


def test_checksum_is_not_verified_when_0_or_missing(world: World, client: Client) -> None:
    assert client.register(register_body(), body_crc32=0).code == 0
    assert client.register(register_body(), body_crc32=None).code == 0


def test_repeated_registration_is_not_decoded(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for compressed, body in ((False, register_body()), (True, compressed_body("T1", "T2"))):
        first = client.register(body, compressed=compressed)
        with monkeypatch.context() as patched:
            patched.setattr(requests, "_register_body", None)
            world.net.advance(100)
            again = client.register(body, compressed=compressed)
        assert (again.code, again.ext_fields, again.body) == (0, first.ext_fields, first.body)
        assert world.namesrv.tables.live[key()].last_update == world.namesrv.now()


def test_changed_registration_is_decoded(world: World, client: Client) -> None:
    client.register(register_body())
    client.register(register_body("T1", "T2", "T3", counter=2))
    client.register(register_body("T1", "T2", "T3", counter=2), ha_server_addr="x:1")
    assert "T3" in world.namesrv.tables.topic_queues
    assert world.namesrv.tables.live[key()].ha_address == "x:1"
    client.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, headers.DeleteTopicFromNamesrvRequestHeader(topic="T3"))
    client.register(register_body("T1", "T2", "T3", counter=2), ha_server_addr="x:1")
    assert "T3" in world.namesrv.tables.topic_queues, "a topic that is missing comes back"


def test_single_topic_of_unknown_broker_is_refused(client: Client) -> None:
    answer = client.register(register_body("T1"))
    assert refusal(answer) == (ResponseCode.SYSTEM_ERROR, "register broker failed")


def test_registration_without_body_brings_no_topics(world: World, client: Client) -> None:
    assert client.register(b"").code == 0
    assert set(world.namesrv.tables.brokers) == {"b1"}
    assert not world.namesrv.tables.topic_queues


@pytest.mark.parametrize("says_so", [True, False])
def test_compressed_registration_is_detected_without_header(client: Client, says_so: bool) -> None:
    """Brokers that compress leave the header field false."""
    assert client.register(compressed_body("T1", "T2"), compressed=says_so).code == 0
    assert json_of(client.route("T2"))["queueDatas"][0]["writeQueueNums"] == 4


def test_mappings_of_static_topics_are_part_of_route(client: Client) -> None:
    info = {
        "bname": "b1",
        "currIdMap": {0: 0},
        "epoch": 5,
        "scope": "__global__",
        "topic": "T1",
        "totalQueues": 8,
    }
    client.register(register_body(mappings={"T1": info | {"dirty": False}}))
    shown = json_of(client.route("T1"))["topicQueueMappingByBroker"]["b1"]
    assert (shown["epoch"], shown["totalQueues"], shown["currIdMap"]) == (5, 8, {"0": 0})
    assert "topicQueueMappingByBroker" not in json_of(client.route("T2"))
    client.register(compressed_body("T1", "T2", mappings=(info,)), broker_name="b2", broker_addr=OTHER)


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"[]",
        b"null",
        b'{"topicConfigSerializeWrapper":7}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":[]}}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T1":7,"T2":{}}}}',
        b'{"topicConfigSerializeWrapper":{"dataVersion":"x","topicConfigTable":{}}}',
        b'{"filterServerList":7,"topicConfigSerializeWrapper":{"topicConfigTable":{}}}',
        b'{"filterServerList":[7],"topicConfigSerializeWrapper":{"topicConfigTable":{}}}',
        register_body(topic_config("T1") | {"perm": "six"}, "T2"),
        register_body(topic_config("T1") | {"writeQueueNums": [1]}, "T2"),
        register_body(mappings={"T1": 7}),
        b"x\x9c not zlib",
        compressed_body("T1", "T2")[:-9],
        zlib.compress(block(b"{}") + struct.pack(">i", 2**31 - 1)),
        zlib.compress(block(b"{}") + struct.pack(">i", -1)),
        zlib.compress(struct.pack(">i", -5)),
    ],
)
def test_hostile_registration_affects_only_itself(world: World, client: Client, body: bytes) -> None:
    client.register(register_body(), broker_name="good", broker_addr=OTHER)
    answer = client.register(body)
    if answer.code == 0:  # read as nothing: then nothing came of it
        assert set(world.namesrv.tables.topic_queues) == {"T1", "T2"}
        return
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert set(world.namesrv.tables.brokers) == {"good"}
    assert json_of(client.route("T1"))["brokerDatas"][0]["brokerName"] == "good"


def test_zlib_bomb_is_refused(world: World, client: Client) -> None:
    world.options.max_registration_size = 100_000
    bomb = zlib.compress(b"\0" * 50_000_000, 9)
    assert len(bomb) < 60_000
    assert client.register(bomb, compressed=True).code == ResponseCode.SYSTEM_ERROR
    assert not world.namesrv.tables.live


def test_oversized_names_are_refused(world: World, client: Client) -> None:
    answer = client.register(register_body(), broker_name="b" * 10_000)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert not world.namesrv.tables.brokers


def test_registration_that_exceeds_limit_is_refused_with_limit(world: World, client: Client) -> None:
    world.options.max_topics = 1
    assert refusal(client.register(register_body())) == (
        ResponseCode.SYSTEM_ERROR,
        "too many topics are registered, the limit is 1",
    )


def test_missing_field_is_named(client: Client) -> None:
    answer = client.ask(RequestCode.REGISTER_BROKER, ext={"brokerName": "b1"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "brokerAddr" in str(answer.remark)


@pytest.mark.parametrize(
    ("code", "ext", "expected"),
    [
        (RequestCode.GET_ROUTEINFO_BY_TOPIC, {}, ResponseCode.TOPIC_NOT_EXIST),
        (RequestCode.GET_TOPICS_BY_CLUSTER, {}, ResponseCode.SUCCESS),
        (RequestCode.GET_BROKER_MEMBER_GROUP, {}, ResponseCode.SUCCESS),
        (RequestCode.UNREGISTER_BROKER, {}, ResponseCode.SUCCESS),
        (RequestCode.BROKER_HEARTBEAT, {"clusterName": "c1", "brokerAddr": "a:1"}, ResponseCode.SUCCESS),
        (RequestCode.QUERY_DATA_VERSION, {"clusterName": "c1", "brokerAddr": "a:1"}, ResponseCode.SUCCESS),
        (RequestCode.DELETE_TOPIC_IN_NAMESRV, {}, ResponseCode.SUCCESS),
        (RequestCode.WIPE_WRITE_PERM_OF_BROKER, {}, ResponseCode.SUCCESS),
        (RequestCode.ADD_WRITE_PERM_OF_BROKER, {}, ResponseCode.SUCCESS),
        (RequestCode.GET_KV_CONFIG, {}, ResponseCode.QUERY_NOT_FOUND),
        (RequestCode.DELETE_KV_CONFIG, {}, ResponseCode.SUCCESS),
        (RequestCode.GET_KVLIST_BY_NAMESPACE, {}, ResponseCode.QUERY_NOT_FOUND),
    ],
)
@pytest.mark.parametrize("body", [b"", b"null", b'""'])
def test_request_without_fields_is_answered_as_rocketmq_answers_it(
    client: Client, code: RequestCode, ext: dict[str, str], expected: int, body: bytes
) -> None:
    client.register(register_body())
    assert client.ask(code, ext=ext, body=body).code == expected
    assert client.route("T1").code == 0


# 104, 322, 904, 901, 217


def unregister(client: Client, **fields: Any) -> RemotingCommand:
    known = {"broker_name": "b1", "broker_addr": MASTER, "cluster_name": "c1", "broker_id": 0}
    return client.ask(
        RequestCode.UNREGISTER_BROKER, headers.UnRegisterBrokerRequestHeader(**(known | fields))
    )


def test_unregistered_broker_is_gone_from_routes(client: Client) -> None:
    client.register(register_body())
    assert refusal(unregister(client)) == (0, None)
    assert client.route("T1").code == ResponseCode.TOPIC_NOT_EXIST
    assert json_of(client.ask(RequestCode.GET_BROKER_CLUSTER_INFO)) == {
        "brokerAddrTable": {},
        "clusterAddrTable": {},
    }


def query_version(client: Client, body: bytes, oneway: bool = False) -> list[RemotingCommand]:
    header = headers.QueryDataVersionRequestHeader(
        broker_name="b1", broker_addr=MASTER, cluster_name="c1", broker_id=0
    )
    return client.send(RequestCode.QUERY_DATA_VERSION, header, body, oneway=oneway)


def test_data_version_is_compared_with_registered_one(client: Client) -> None:
    ours = json.dumps(data_version(3)).encode()
    (unknown,) = query_version(client, ours)
    assert (unknown.ext_fields, unknown.body) == ({"changed": "true"}, b"")
    client.register(register_body(counter=3))
    (same,) = query_version(client, ours)
    assert same.ext_fields == {"changed": "false"}
    assert json_of(same) == data_version(3)
    (other,) = query_version(client, json.dumps(data_version(4)).encode())
    assert other.ext_fields == {"changed": "true"}
    (none,) = query_version(client, b"")
    assert none.ext_fields == {"changed": "true"}


def test_oneway_data_version_query_counts_as_heartbeat(world: World, client: Client) -> None:
    client.register(register_body(), heartbeat_timeout_millis=10_000)
    for _ in range(4):
        world.net.settle(5)
        assert query_version(client, json.dumps(data_version()).encode(), oneway=True) == []
    assert client.route("T1").code == 0


def test_broken_data_version_is_refused(client: Client) -> None:
    (answer,) = query_version(client, b'{"counter":"x"}')
    assert answer.code == ResponseCode.SYSTEM_ERROR


def heartbeat(client: Client, address: str = MASTER) -> RemotingCommand:
    header = headers.BrokerHeartbeatRequestHeader(cluster_name="c1", broker_addr=address, broker_name="b1")
    return client.ask(RequestCode.BROKER_HEARTBEAT, header)


def test_heartbeat_keeps_broker_alive(world: World, client: Client) -> None:
    client.register(register_body(), heartbeat_timeout_millis=10_000)
    for _ in range(4):
        world.net.settle(5)
        assert refusal(heartbeat(client)) == (0, None)
    assert client.route("T1").code == 0


def test_heartbeat_of_unknown_broker_is_answered(world: World, client: Client) -> None:
    assert refusal(heartbeat(client, OTHER)) == (0, None)
    assert not world.namesrv.tables.live


def members(client: Client, name: str) -> RemotingCommand:
    header = headers.GetBrokerMemberGroupRequestHeader(cluster_name="c1", broker_name=name)
    return client.ask(RequestCode.GET_BROKER_MEMBER_GROUP, header)


def test_members_of_group_are_returned(client: Client) -> None:
    client.register(register_body())
    client.register(register_body(), broker_id=1, broker_addr=SLAVE)
    assert members(client, "b1").body == (
        b'{"brokerMemberGroup":{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},'
        b'"brokerName":"b1","cluster":"c1"}}'
    )
    assert json_of(members(client, "b9"))["brokerMemberGroup"]["brokerAddrs"] == {}


def register_topic(client: Client, topic: str, *brokers: str) -> RemotingCommand:
    queue_datas = [
        {"brokerName": one, "perm": 6, "readQueueNums": 2, "topicSysFlag": 0, "writeQueueNums": 2}
        for one in brokers
    ]
    body = json.dumps({"queueDatas": queue_datas}).encode()
    return client.ask(
        RequestCode.REGISTER_TOPIC_IN_NAMESRV, headers.RegisterTopicRequestHeader(topic=topic), body
    )


def test_single_topic_is_registered(client: Client) -> None:
    client.register(register_body())
    assert refusal(register_topic(client, "T9", "b1")) == (0, None)
    assert json_of(client.route("T9"))["queueDatas"][0]["writeQueueNums"] == 2


def test_single_topic_of_unknown_broker_is_ignored(client: Client) -> None:
    client.register(register_body())
    assert refusal(register_topic(client, "T9", "b9")) == (0, None)
    assert client.route("T9").code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize("body", [b"", b"null", b'""', b"{}", b'{"queueDatas":null}', b'{"queueDatas":[]}'])
def test_single_topic_without_queues_is_ignored(client: Client, body: bytes) -> None:
    header = headers.RegisterTopicRequestHeader(topic="T9")
    assert client.ask(RequestCode.REGISTER_TOPIC_IN_NAMESRV, header, body).code == 0
    assert client.route("T9").code == ResponseCode.TOPIC_NOT_EXIST


# 106, 205, 327, 216, topic lists


def test_cluster_info_has_exact_bytes(client: Client) -> None:
    client.register(register_body())
    assert client.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body == (
        b'{"brokerAddrTable":{"b1":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"b1","cluster":"c1",'
        b'"enableActingMaster":false}},"clusterAddrTable":{"c1":["b1"]}}'
    )


def test_write_permission_is_wiped_and_added(client: Client) -> None:
    client.register(register_body(topic_config("T1", perm=7), "T2"))

    def perms() -> list[int]:
        return [json_of(client.route(topic))["queueDatas"][0]["perm"] for topic in ("T1", "T2")]

    wiped = client.ask(
        RequestCode.WIPE_WRITE_PERM_OF_BROKER, headers.WipeWritePermOfBrokerRequestHeader(broker_name="b1")
    )
    assert wiped.ext_fields == {"wipeTopicCount": "2"}
    assert perms() == [5, 4]
    added = client.ask(
        RequestCode.ADD_WRITE_PERM_OF_BROKER, headers.AddWritePermOfBrokerRequestHeader(broker_name="b1")
    )
    assert added.ext_fields == {"addTopicCount": "2"}
    assert perms() == [6, 6]


def test_write_permission_of_unknown_broker_counts_no_topics(client: Client) -> None:
    header = headers.WipeWritePermOfBrokerRequestHeader(broker_name="b9")
    assert client.ask(RequestCode.WIPE_WRITE_PERM_OF_BROKER, header).ext_fields == {"wipeTopicCount": "0"}


def test_topic_is_deleted_in_one_cluster_or_in_all(client: Client) -> None:
    client.register(register_body())
    client.register(register_body(), broker_name="b2", broker_addr=OTHER, cluster_name="c2")

    def delete(cluster: str | None) -> int:
        header = headers.DeleteTopicFromNamesrvRequestHeader(topic="T1", cluster_name=cluster)
        return client.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, header).code

    assert delete("c1") == 0
    assert [one["brokerName"] for one in json_of(client.route("T1"))["queueDatas"]] == ["b2"]
    assert delete(None) == 0
    assert client.route("T1").code == ResponseCode.TOPIC_NOT_EXIST
    assert delete("") == 0


LISTS: list[tuple[RequestCode, Header | None, list[str]]] = [
    (RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, None, ["T1", "T2", "U1", "U2", "U3"]),
    (RequestCode.GET_TOPICS_BY_CLUSTER, headers.GetTopicsByClusterRequestHeader(cluster="c1"), ["T1", "T2"]),
    (RequestCode.GET_TOPICS_BY_CLUSTER, headers.GetTopicsByClusterRequestHeader(cluster="c9"), []),
    (RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, None, ["b1", "b2", "c1", "c2"]),
    (RequestCode.GET_UNIT_TOPIC_LIST, None, ["U1", "U3"]),
    (RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, None, ["U2", "U3"]),
    (RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, None, ["U2"]),
]


@pytest.mark.parametrize(("code", "header", "topics"), LISTS)
def test_topics_are_listed_by_code(
    client: Client, code: RequestCode, header: Header | None, topics: list[str]
) -> None:
    client.register(register_body())
    units = [topic_config(f"U{flag}", flag=flag) for flag in (1, 2, 3)]
    client.register(register_body(*units), broker_name="b2", broker_addr=OTHER, cluster_name="c2")
    assert sorted(json_of(client.ask(code, header))["topicList"]) == topics


def test_system_topics_come_with_address_of_broker(client: Client) -> None:
    client.register(register_body())
    assert json_of(client.ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS))["brokerAddr"] == MASTER


@pytest.mark.parametrize(("code", "header", "topics"), LISTS)
def test_topic_lists_can_be_disabled_but_for_system_topics(
    world: World, client: Client, code: RequestCode, header: Header | None, topics: list[str]
) -> None:
    world.options.enable_topic_list = False
    world.options.enable_all_topic_list = False
    answer = client.ask(code, header)
    if code == RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS:
        assert answer.code == 0
    else:
        assert refusal(answer) == (ResponseCode.SYSTEM_ERROR, "disable")


# KV configuration


def put_kv(client: Client, namespace: str, key: str, value: str) -> RemotingCommand:
    header = headers.PutKVConfigRequestHeader(namespace=namespace, key=key, value=value)
    return client.ask(RequestCode.PUT_KV_CONFIG, header)


def get_kv(client: Client, namespace: str, key: str) -> RemotingCommand:
    return client.ask(
        RequestCode.GET_KV_CONFIG, headers.GetKVConfigRequestHeader(namespace=namespace, key=key)
    )


def list_kv(client: Client, namespace: str) -> RemotingCommand:
    header = headers.GetKVListByNamespaceRequestHeader(namespace=namespace)
    return client.ask(RequestCode.GET_KVLIST_BY_NAMESPACE, header)


def test_kv_value_is_put_read_listed_and_deleted(client: Client) -> None:
    assert refusal(put_kv(client, "ns", "k", "v")) == (0, None)
    assert get_kv(client, "ns", "k").ext_fields == {"value": "v"}
    assert list_kv(client, "ns").body == b'{"table":{"k":"v"}}'
    header = headers.DeleteKVConfigRequestHeader(namespace="ns", key="k")
    assert refusal(client.ask(RequestCode.DELETE_KV_CONFIG, header)) == (0, None)
    assert refusal(get_kv(client, "ns", "k")) == (
        ResponseCode.QUERY_NOT_FOUND,
        "No config item, Namespace: ns Key: k",
    )
    assert json_of(list_kv(client, "ns")) == {"table": {}}


def test_unknown_namespace_is_not_found(client: Client) -> None:
    assert refusal(list_kv(client, "ns")) == (ResponseCode.QUERY_NOT_FOUND, "No config item, Namespace: ns")


def test_kv_configuration_survives_restart() -> None:
    disk = CrashDisk()
    put_kv(World(disk=disk).connect(), "ns", "k", "v")
    assert get_kv(World(disk=disk.crash()).connect(), "ns", "k").ext_fields == {"value": "v"}


def test_failed_kv_write_is_refused(world: World, client: Client) -> None:
    world.disk.fail_next("write", "kvConfig.json")
    assert put_kv(client, "ns", "k", "v").code == ResponseCode.SYSTEM_ERROR
    assert get_kv(client, "ns", "k").code == ResponseCode.QUERY_NOT_FOUND


def test_kv_configuration_is_limited(world: World, client: Client) -> None:
    world.options.max_kv_entries = 1
    world.options.max_kv_entry_length = 10
    assert put_kv(client, "ns", "k", "v" * 8).code == ResponseCode.SYSTEM_ERROR
    assert put_kv(client, "ns", "k", "v").code == 0
    assert put_kv(client, "ns", "k", "w").code == 0
    assert put_kv(client, "ns", "l", "v").code == ResponseCode.SYSTEM_ERROR


# 318, 319


def update(client: Client, text: str) -> RemotingCommand:
    return client.ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, text.encode())


def settings(client: Client) -> dict[str, str]:
    text = client.ask(RequestCode.GET_NAMESRV_CONFIG).body.decode()
    return dict(line.split("=", 1) for line in text.splitlines())


def test_settings_are_updated_returned_and_stored(world: World, client: Client) -> None:
    assert refusal(update(client, "orderMessageEnable=true\nunknownThing=1\n")) == (0, None)
    assert world.options.order_message_enable
    assert settings(client)["orderMessageEnable"] == "true"
    assert settings(client)["listenPort"] == "9876"
    assert b"orderMessageEnable=true\n" in world.disk.crash().read_bytes("/ns/namesrv.properties")


def test_updated_setting_applies_to_routes_at_once(world: World, client: Client) -> None:
    client.register(register_body(), broker_id=1, broker_addr=SLAVE, enable_acting_master=True)
    assert json_of(client.route("T1"))["brokerDatas"][0]["brokerAddrs"] == {"1": SLAVE}
    update(client, "supportActingMaster=true")
    assert json_of(client.route("T1"))["brokerDatas"][0]["brokerAddrs"] == {"0": SLAVE}


@pytest.mark.parametrize("name", ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"])
def test_some_settings_cannot_be_updated(world: World, client: Client, name: str) -> None:
    answer = update(client, f"orderMessageEnable=true\n{name}=x")
    assert refusal(answer) == (ResponseCode.NO_PERMISSION, "Can not update config in black list.")
    assert not world.options.order_message_enable


def test_black_list_is_configurable(world: World, client: Client) -> None:
    world.options.config_black_list = "a;orderMessageEnable"
    assert update(client, "orderMessageEnable=true").code == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize("body", [b"a=\\u12x4", b"\xff\xfe"])
def test_malformed_properties_are_refused(client: Client, body: bytes) -> None:
    answer = client.ask(RequestCode.UPDATE_NAMESRV_CONFIG, None, body)
    assert refusal(answer) == (ResponseCode.SYSTEM_ERROR, "string2Properties error")


def test_bad_value_is_refused_with_reason_and_changes_nothing(world: World, client: Client) -> None:
    answer = update(client, "orderMessageEnable=true\nwaitSecondsForService=soon")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "waitSecondsForService" in str(answer.remark)
    assert not world.options.order_message_enable


def test_update_without_body_changes_nothing(client: Client) -> None:
    before = settings(client)
    assert refusal(update(client, "")) == (0, None)
    assert settings(client) == before


# The rest


def test_other_requests_are_not_supported(client: Client) -> None:
    assert refusal(client.ask(RequestCode.PULL_MESSAGE)) == (
        ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
        " request type 11 not supported",
    )
