"""Request functions of the name server: `(namesrv, call) -> Reply`, or `Steps` of it.

They are grouped by caller: clients (routes), brokers (registration and heartbeats), administrators
(permissions, topics, KV configuration, settings). `service.py` maps codes to them.
RocketMQ: `ClientRequestProcessor`, `DefaultRequestProcessor`.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.configuration import ChangeForbidden
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import load_properties
from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.bodies import (
    BrokerMemberGroup,
    GetBrokerMemberGroupResponseBody,
    KVTable,
    QueueData,
    RegisterBrokerBody,
    TopicList,
    TopicRouteData,
)
from mqgateway.gateway.codec.bodies.body import is_null
from mqgateway.gateway.codec.codes import V4_9_4, ResponseCode
from mqgateway.gateway.namesrv import lookup
from mqgateway.gateway.namesrv.kv import ORDER_TOPIC_CONFIG, KvFull
from mqgateway.gateway.namesrv.name_server import NameServer
from mqgateway.gateway.namesrv.registration import (
    BrokerKey,
    Leaving,
    Registration,
    RegistrationRefused,
    RegistrationResult,
    read_queues,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

log = logging.getLogger(__name__)

FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
"""Text that RocketMQ appends to some remarks. RocketMQ: `FAQUrl.suggestTodo`."""

ZONE_MODE = "__ZONE_MODE"
ZONE_NAME = "__ZONE_NAME"
"""Fields that clients and brokers of a zone add to every request. RocketMQ: `DynamicalExtFieldRPCHook`."""

ZLIB_START = b"x"
VERSION_PARTS = ("counter", "stateVersion", "timestamp")
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

# Clients


def get_route(namesrv: NameServer, call: Call) -> Reply:
    """Serve 105: return the route of a topic. Clients before 4.9.4, and Go's, expect bare integer keys."""
    header = call.header
    assert isinstance(header, headers.GetRouteInfoRequestHeader)
    if not namesrv.is_ready():
        raise RequestError(ResponseCode.SYSTEM_ERROR, "name server not ready")
    quoted = call.command.version >= V4_9_4 or bool(header.accept_standard_json_only)
    zone = _zone_of(call)
    if zone is None and not namesrv.options.order_message_enable:
        body = lookup.encoded_route(namesrv.tables, header.topic, quoted=quoted)
    else:
        route = lookup.find_route(namesrv.tables, header.topic)
        body = None
        if route is not None:
            route = _dressed(namesrv, header.topic, route, zone)
            body = route.encode_standard() if quoted else route.encode()
    if body is None:
        raise RequestError(
            ResponseCode.TOPIC_NOT_EXIST,
            f"No topic route info in name server for the topic: {header.topic}{FAQ}",
        )
    return Reply(body=body)


def _zone_of(call: Call) -> str | None:
    fields = call.command.ext_fields
    if fields.get(ZONE_MODE, "").lower() != "true":
        return None
    zone = fields.get(ZONE_NAME, "")
    return zone if zone.strip() else None


def _dressed(namesrv: NameServer, topic: str, route: TopicRouteData, zone: str | None) -> TopicRouteData:
    """Complete a route with ordered topics and the caller's zone, which are not in the tables."""
    if namesrv.options.order_message_enable:
        route = replace(route, order_topic_conf=namesrv.kv.get(ORDER_TOPIC_CONFIG, topic))
    return route if zone is None else lookup.keep_zone(route, zone)


# Brokers


def host_of(call: Call) -> str:
    """Return the IP address of the caller."""
    return call.peer.address.rpartition(":")[0].strip("[]")


def register_broker(namesrv: NameServer, call: Call) -> Steps[Reply]:
    """Serve 103 as a cooperative task: register a broker, and its topics if they have changed.

    Brokers repeat the same registration every 30 s. Then the body, possibly megabytes of JSON, is not
    decoded.
    """
    header = call.header
    assert isinstance(header, headers.RegisterBrokerRequestHeader)
    fingerprint = hash((call.body, call.command.version, frozenset(call.command.ext_fields.items())))
    key = BrokerKey(header.cluster_name, header.broker_addr)
    now, host = namesrv.now(), host_of(call)
    registered = namesrv.tables.register_again(key, header.broker_id, fingerprint, call.peer, host, now)
    if registered is None:
        registered = yield from _register(namesrv, call, header, fingerprint)
    call.peer.on_lost(namesrv.connection_lost)
    body = b""
    if namesrv.options.return_order_topic_config_to_broker:
        body = _kv_body(namesrv.kv.values(ORDER_TOPIC_CONFIG))
    answer = headers.RegisterBrokerResponseHeader(
        ha_server_addr=registered.ha_address, master_addr=registered.master_address
    )
    return Reply(header=answer, body=body, remark=registered.warning or None)


def _register(
    namesrv: NameServer, call: Call, header: headers.RegisterBrokerRequestHeader, fingerprint: int
) -> Steps[RegistrationResult]:
    if header.body_crc32 and header.body_crc32 != zlib.crc32(call.body) & 0x7FFFFFFF:
        log.warning("the registration of %s is damaged: wrong checksum", header.broker_name)
        raise RequestError(ResponseCode.SYSTEM_ERROR, "crc32 not match")
    try:
        said = yield from _registration(namesrv, call, header, fingerprint)
        registered = yield from namesrv.tables.register_in_steps(said, namesrv.now())
    except RegistrationRefused as refused:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refused)) from None
    namesrv.send_notices(registered.notices)
    return registered


def _registration(
    namesrv: NameServer, call: Call, header: headers.RegisterBrokerRequestHeader, fingerprint: int
) -> Steps[Registration]:
    topics: dict[str, QueueData] = {}
    body = yield from _register_body(namesrv, call, header, topics)
    wrapper = body.topic_config_serialize_wrapper
    return Registration(
        cluster=header.cluster_name,
        name=header.broker_name,
        broker_id=header.broker_id,
        address=header.broker_addr,
        ha_address=header.ha_server_addr,
        zone_name=call.command.ext_fields.get(ZONE_NAME),
        heartbeat_timeout=header.heartbeat_timeout_millis,
        enable_acting_master=header.enable_acting_master,
        data_version=_data_version(wrapper.data_version or {}),
        topics=topics,
        mappings=wrapper.topic_queue_mapping_info_map,
        filter_servers=body.filter_server_list,
        peer=call.peer,
        host=host_of(call),
        fingerprint=fingerprint,
    )


def _register_body(
    namesrv: NameServer,
    call: Call,
    header: headers.RegisterBrokerRequestHeader,
    topics: dict[str, QueueData],
) -> Steps[RegisterBrokerBody]:
    """Parse the body; its topics are added to `topics` as they are read."""
    most = namesrv.options.max_topics

    def take(topic: str, config: Mapping[str, Any]) -> None:
        if len(topics) >= most:
            raise RegistrationRefused(f"too many topics are registered, the limit is {most}")
        topics[topic] = read_queues(header.broker_name, topic, config)

    if not call.body:
        return RegisterBrokerBody()
    # Brokers that compress the body leave the header field false; JSON never starts like a zlib stream.
    if header.compressed or call.body.startswith(ZLIB_START):
        limit = namesrv.options.max_registration_size
        return (yield from RegisterBrokerBody.read_compressed(call.body, call.command.version, limit, take))
    return (yield from RegisterBrokerBody.read(call.body, take))


def _data_version(value: object) -> DataVersion:
    """Parse a data version; missing fields are 0. Raises RequestError."""
    if not isinstance(value, dict) or not all(_is_long(value.get(name, 0)) for name in VERSION_PARTS):
        raise RequestError(ResponseCode.SYSTEM_ERROR, "the data version cannot be read")
    return DataVersion.from_json(value)


def _json_of(body: bytes) -> object:
    try:
        value: object = lenient_json.loads(body)
    except lenient_json.JsonError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the body is not JSON: {error}") from None
    return value


def _is_long(value: object) -> bool:
    return type(value) is int and LONG_MIN <= value <= LONG_MAX


def unregister_broker(namesrv: NameServer, call: Call) -> Reply:
    """Serve 104: remove a stopping broker, together with others that stop at the same time."""
    header = call.header
    assert isinstance(header, headers.UnRegisterBrokerRequestHeader)
    key = BrokerKey(header.cluster_name, header.broker_addr)
    if not namesrv.tables.may_leave(key, host_of(call), namesrv.now()):
        log.error(
            "%s tried to unregister the broker at %.200s: refused", call.peer.address, header.broker_addr
        )
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the broker at {header.broker_addr} has not said so")
    taken = namesrv.leave_soon(Leaving(key, header.broker_name, header.broker_id))
    return Reply(ResponseCode.SUCCESS if taken else ResponseCode.SYSTEM_ERROR)


def query_data_version(namesrv: NameServer, call: Call) -> Reply:
    """Serve 322: compare a broker's data version with the known one; also counts as a heartbeat."""
    header = call.header
    assert isinstance(header, headers.QueryDataVersionRequestHeader)
    key = BrokerKey(header.cluster_name, header.broker_addr)
    asked = None if is_null(call.body) else _data_version(_json_of(call.body))
    namesrv.tables.heard_of(key, namesrv.now())
    known = namesrv.tables.data_version(key)
    answer = headers.QueryDataVersionResponseHeader(changed=namesrv.tables.is_changed(key, asked))
    return Reply(header=answer, body=b"" if known is None else known.encode())


def broker_heartbeat(namesrv: NameServer, call: Call) -> Reply:
    """Serve 904: record the heartbeat of a broker, known or not."""
    header = call.header
    assert isinstance(header, headers.BrokerHeartbeatRequestHeader)
    namesrv.tables.heard_of(BrokerKey(header.cluster_name, header.broker_addr), namesrv.now())
    return Reply()


def get_broker_member_group(namesrv: NameServer, call: Call) -> Reply:
    """Serve 901: return the members of a broker group by id; empty if it is unknown."""
    header = call.header
    assert isinstance(header, headers.GetBrokerMemberGroupRequestHeader)
    group = BrokerMemberGroup(
        cluster=header.cluster_name,
        broker_name=header.broker_name,
        broker_addrs=lookup.member_addresses(namesrv.tables, header.broker_name),
    )
    return Reply(body=GetBrokerMemberGroupResponseBody(broker_member_group=group).encode())


def register_topic(namesrv: NameServer, call: Call) -> Reply:
    """Serve 217: register the queues of one topic on registered brokers."""
    header = call.header
    assert isinstance(header, headers.RegisterTopicRequestHeader)
    if not is_null(call.body):
        queues = TopicRouteData.decode(call.body).queue_datas
        try:
            namesrv.tables.put_topic(header.topic, queues)
        except RegistrationRefused as refused:
            raise RequestError(ResponseCode.SYSTEM_ERROR, str(refused)) from None
    return Reply()


# Administrators: the cluster and its topics


def get_cluster_info(namesrv: NameServer, call: Call) -> Reply:
    """Serve 106: return all brokers and clusters."""
    return Reply(body=lookup.cluster_info(namesrv.tables).encode())


def wipe_write_perm(namesrv: NameServer, call: Call) -> Reply:
    """Serve 205: remove the write permission of a broker's topics, until it registers a change."""
    header = call.header
    assert isinstance(header, headers.WipeWritePermOfBrokerRequestHeader)
    count = namesrv.tables.change_perms(header.broker_name, lambda perm: perm & ~PERM_WRITE)
    log.info(
        "%s wipes the write permission of %.200s: %d topics", call.peer.address, header.broker_name, count
    )
    return Reply(header=headers.WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count))


def add_write_perm(namesrv: NameServer, call: Call) -> Reply:
    """Serve 327: set the permission of a broker's topics to read and write; other bits are lost."""
    header = call.header
    assert isinstance(header, headers.AddWritePermOfBrokerRequestHeader)
    count = namesrv.tables.change_perms(header.broker_name, lambda _: PERM_READ | PERM_WRITE)
    log.info(
        "%s adds the write permission of %.200s: %d topics", call.peer.address, header.broker_name, count
    )
    return Reply(header=headers.AddWritePermOfBrokerResponseHeader(add_topic_count=count))


def delete_topic(namesrv: NameServer, call: Call) -> Reply:
    """Serve 216: remove a topic from one cluster or from all."""
    header = call.header
    assert isinstance(header, headers.DeleteTopicFromNamesrvRequestHeader)
    log.info(
        "%s deletes topic %.200s in %.200s",
        call.peer.address,
        header.topic,
        header.cluster_name or "all clusters",
    )
    namesrv.tables.delete_topic(header.topic, header.cluster_name)
    return Reply()


def get_all_topics(namesrv: NameServer, call: Call) -> Reply:
    """Serve 206: return every topic."""
    if not namesrv.options.enable_all_topic_list:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "disable")
    return Reply(body=lookup.all_topics(namesrv.tables).encode())


def get_topics_of_cluster(namesrv: NameServer, call: Call) -> Reply:
    """Serve 224: return the topics of one cluster."""
    header = call.header
    assert isinstance(header, headers.GetTopicsByClusterRequestHeader)
    return _topic_list(namesrv, lambda: lookup.topics_of_cluster(namesrv.tables, header.cluster))


def get_system_topics(namesrv: NameServer, call: Call) -> Reply:
    """Serve 304: return the topics named like clusters and brokers, even if topic lists are disabled."""
    return Reply(body=lookup.system_topics(namesrv.tables).encode())


def get_unit_topics(namesrv: NameServer, call: Call) -> Reply:
    """Serve 311: return the topics that belong to a unit."""
    return _topic_list(namesrv, lambda: lookup.topics_by_flag(namesrv.tables, lookup.is_unit))


def get_unit_sub_topics(namesrv: NameServer, call: Call) -> Reply:
    """Serve 312: return the topics that units subscribe to."""
    return _topic_list(namesrv, lambda: lookup.topics_by_flag(namesrv.tables, lookup.has_unit_sub))


def get_unit_sub_topics_of_no_unit(namesrv: NameServer, call: Call) -> Reply:
    """Serve 313: return the topics outside units that units subscribe to."""
    accept = lookup.has_unit_sub_but_no_unit
    return _topic_list(namesrv, lambda: lookup.topics_by_flag(namesrv.tables, accept))


def _topic_list(namesrv: NameServer, make: Callable[[], TopicList]) -> Reply:
    if not namesrv.options.enable_topic_list:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "disable")
    return Reply(body=make().encode())


# Administrators: KV configuration


def put_kv(namesrv: NameServer, call: Call) -> Deferred[Reply]:
    """Serve 100: set one value of the KV configuration."""
    header = call.header
    assert isinstance(header, headers.PutKVConfigRequestHeader)
    try:
        namesrv.kv.put(header.namespace, header.key, header.value)
    except KvFull as full:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(full)) from None
    return _once_durable(namesrv)


def _once_durable(namesrv: NameServer) -> Deferred[Reply]:
    """Return a reply that is sent once all changes are durable."""
    answer: Deferred[Reply] = Deferred()

    def on_durable(outcome: OSError | None) -> None:
        if outcome is None:
            answer.callback(Reply())
        else:
            answer.errback(outcome)

    namesrv.kv.when_durable(on_durable)
    return answer


def get_kv(namesrv: NameServer, call: Call) -> Reply:
    """Serve 101: return one value."""
    header = call.header
    assert isinstance(header, headers.GetKVConfigRequestHeader)
    value = namesrv.kv.get(header.namespace, header.key)
    if value is None:
        raise RequestError(
            ResponseCode.QUERY_NOT_FOUND,
            f"No config item, Namespace: {header.namespace} Key: {header.key}",
        )
    return Reply(header=headers.GetKVConfigResponseHeader(value=value))


def delete_kv(namesrv: NameServer, call: Call) -> Deferred[Reply]:
    """Serve 102: delete one value, if it exists."""
    header = call.header
    assert isinstance(header, headers.DeleteKVConfigRequestHeader)
    namesrv.kv.delete(header.namespace, header.key)
    return _once_durable(namesrv)


def get_kv_list(namesrv: NameServer, call: Call) -> Reply:
    """Serve 219: return all values of a namespace."""
    header = call.header
    assert isinstance(header, headers.GetKVListByNamespaceRequestHeader)
    values = namesrv.kv.values(header.namespace)
    if values is None:
        raise RequestError(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {header.namespace}")
    return Reply(body=_kv_body(values))


def _kv_body(values: dict[str, str] | None) -> bytes:
    return b"" if values is None else KVTable(table=values).encode()


# Administrators: settings


def update_config(namesrv: NameServer, call: Call) -> Reply:
    """Serve 318: update settings from properties text; unknown names are ignored, as by RocketMQ.

    An invalid value is refused, and then nothing is changed (RocketMQ drops it silently).
    """
    try:
        found = load_properties(call.body, "request")
    except ConfigError:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "string2Properties error") from None
    log.info("%s updates settings", call.peer.address)
    try:
        note = namesrv.update_settings(found)
    except ChangeForbidden as refusal:
        raise RequestError(ResponseCode.NO_PERMISSION, str(refusal)) from None
    except ConfigError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
    return Reply(remark=note or None)


def get_config(namesrv: NameServer, call: Call) -> Reply:
    """Serve 319: return all settings as properties text."""
    return Reply(body=namesrv.configuration.as_properties().encode())
