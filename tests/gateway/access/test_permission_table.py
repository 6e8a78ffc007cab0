"""The tables of permissions in `docs/security.md` equal what the code declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.access.needs import USERS, Need
from mqgateway.gateway.access.resources import BY_BODY, BY_HEADER, BY_RECORD
from mqgateway.gateway.access.server_needs import OF_CONTAINER, OF_CONTROLLER, OF_NAME_SERVER
from mqgateway.gateway.codec.codes import RequestCode as Code
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.access import _NEEDS, needs_of
from tests.house.source import ROOT

PAGE = Path(ROOT / "docs/security.md").read_text()
Shape = dict[str, frozenset[str]]
"""The actions of which one is needed, by kind of resource."""

OPERATIONS: dict[str, tuple[Code, ...]] = {
    "send, batch, delay, recall, end a transaction": (
        *(Code.SEND_MESSAGE, Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE),
        *(Code.RECALL_MESSAGE, Code.END_TRANSACTION),
    ),
    "send a reply (request-reply)": (Code.SEND_REPLY_MESSAGE, Code.SEND_REPLY_MESSAGE_V2),
    "send a message back": (Code.CONSUMER_SEND_MSG_BACK,),
    "pull, pop, peek, long-poll": (
        *(Code.PULL_MESSAGE, Code.LITE_PULL_MESSAGE, Code.POP_MESSAGE, Code.POP_LITE_MESSAGE),
        *(Code.PEEK_MESSAGE, Code.NOTIFICATION),
    ),
    "acknowledge, change the invisible time": (
        *(Code.ACK_MESSAGE, Code.BATCH_ACK_MESSAGE, Code.CHANGE_MESSAGE_INVISIBLETIME),
    ),
    "heartbeat of a consumer, lock queues, query an assignment, subscribe to lite topics": (
        *(Code.HEART_BEAT, Code.LOCK_BATCH_MQ, Code.UNLOCK_BATCH_MQ, Code.QUERY_ASSIGNMENT),
        Code.LITE_SUBSCRIPTION_CTL,
    ),
    "leave as a consumer": (Code.UNREGISTER_CLIENT,),
    "check a client's configuration": (Code.CHECK_CLIENT_CONFIG,),
    "read offsets of a group": (Code.QUERY_CONSUMER_OFFSET,),
    "commit offsets": (Code.UPDATE_CONSUMER_OFFSET,),
    "list the members of a group": (Code.GET_CONSUMER_LIST_BY_GROUP,),
    "query messages by key": (Code.QUERY_MESSAGE,),
    "read a message by its id": (Code.VIEW_MESSAGE_BY_ID,),
    "have a consumer try one message": (Code.CONSUME_MESSAGE_DIRECTLY,),
    "create or change a topic": (Code.UPDATE_AND_CREATE_TOPIC, Code.UPDATE_AND_CREATE_TOPIC_LIST),
    "delete a topic": (Code.DELETE_TOPIC_IN_BROKER,),
    "show a topic: settings, offsets, times, consumers, lite topics": (
        *(Code.GET_TOPIC_CONFIG, Code.GET_TOPIC_STATS_INFO, Code.CHECK_ROCKSDB_CQ_WRITE_PROGRESS),
        *(Code.QUERY_TOPIC_CONSUME_BY_WHO, Code.SEARCH_OFFSET_BY_TIMESTAMP, Code.GET_MAX_OFFSET),
        *(Code.GET_MIN_OFFSET, Code.GET_EARLIEST_MSG_STORETIME),
        *(Code.GET_PARENT_TOPIC_INFO, Code.GET_LITE_TOPIC_INFO),
    ),
    "create or change a group": (
        *(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST),
    ),
    "delete a group": (Code.DELETE_SUBSCRIPTIONGROUP,),
    "show a group: settings, members, stacks, topics, lite topics": (
        *(Code.GET_SUBSCRIPTIONGROUP_CONFIG, Code.GET_CONSUMER_CONNECTION_LIST),
        *(Code.GET_CONSUMER_RUNNING_INFO, Code.QUERY_TOPICS_BY_CONSUMER, Code.GET_LITE_GROUP_INFO),
    ),
    "show the progress of a group, or a client of lite topics": (
        *(Code.GET_CONSUME_STATS, Code.QUERY_CONSUME_TIME_SPAN, Code.QUERY_CORRECTION_OFFSET),
        *(Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, Code.QUERY_SUBSCRIPTION_BY_CONSUMER),
        *(Code.POLLING_INFO, Code.QUERY_CONSUME_QUEUE, Code.GET_LITE_CLIENT_INFO),
    ),
    "reset or clone offsets, forbid reading": (
        *(Code.INVOKE_BROKER_TO_RESET_OFFSET, Code.CLONE_GROUP_OFFSET),
        Code.UPDATE_AND_GET_GROUP_FORBIDDEN,
    ),
    "trigger the delivery of lite topics": (Code.TRIGGER_LITE_DISPATCH,),
    "check a transaction again": (Code.RESUME_CHECK_HALF_MESSAGE,),
}
CLUSTER_ROWS = {
    "show the broker: settings, figures, all topics, groups and offsets, connections": "Get",
    "change the broker: settings, cleaning, static topics, request modes, replicas": "Update",
    "show users and policies; passwords are shown to super users only": "Get",
    "change users and policies": "Update",
    "show something of a name server, controller or container": "Get",
    "change something there, register a broker": "Update",
}
OTHERS: dict[str, Iterable[Need]] = {
    "send to a retry topic": BY_HEADER[Code.SEND_MESSAGE][0]({"topic": "%RETRY%g"}, "c"),
    "heartbeat of a producer, leave as a producer": BY_HEADER[Code.UNREGISTER_CLIENT][0]({}, "c"),
    "look up a route (name server)": OF_NAME_SERVER[Code.GET_ROUTEINFO_BY_TOPIC][0]({"topic": "t"}, "c"),
}
ASKED = "be asked about a transaction as a producer"

_QUEUES = [{"topic": "t", "brokerName": "b", "queueId": 0}]
_ACK = {"c": "g", "t": "t", "r": "0", "so": 0, "q": 0, "rq": 0, "pt": 1, "it": 1, "b": "AQ=="}
_CONSUMER = {"groupName": "g", "subscriptionDataSet": [{"topic": "t"}]}
BODIES: dict[int, Any] = {
    Code.HEART_BEAT: {"clientID": "c", "consumerDataSet": [_CONSUMER]},
    Code.LOCK_BATCH_MQ: {"consumerGroup": "g", "clientId": "c", "mqSet": _QUEUES},
    Code.UNLOCK_BATCH_MQ: {"consumerGroup": "g", "clientId": "c", "mqSet": _QUEUES},
    Code.QUERY_ASSIGNMENT: {"topic": "t", "consumerGroup": "g", "clientId": "c"},
    Code.UPDATE_AND_CREATE_TOPIC_LIST: {"topicConfigList": [{"topicName": "t"}]},
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: {"groupName": "g"},
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: {"groupConfigList": [{"groupName": "g"}]},
    Code.BATCH_ACK_MESSAGE: {"brokerName": "b", "acks": [_ACK]},
    Code.LITE_SUBSCRIPTION_CTL: {
        "subscriptionSet": [{"action": "PARTIAL_ADD", "clientId": "c", "group": "g", "topic": "t"}]
    },
}


class AllFields(dict[str, str]):
    """Header fields of which each has its own name as value."""

    def get(self, key: str, default: Any = None) -> str:
        return key


def shape(needs: Iterable[Need]) -> Shape:
    """Merge needs by kind of resource; of two for one kind both must be met."""
    found: Shape = {}
    for need in needs:
        kind, actions = need.resource.type.value.lower(), frozenset(need.actions)
        found[kind] = found.get(kind, actions) & actions
    return found


def declared(code: Code) -> Shape:
    """Return what a request needs that names all that it can name."""
    if code in BY_BODY:
        return shape(run(BY_BODY[code](json.dumps(BODIES[code]).encode(), BrokerOptions())))
    found = shape(need for part in BY_HEADER[code] for need in part(AllFields(), "c"))
    if code in BY_RECORD:
        actions = frozenset(BY_RECORD[code][0])
        found["topic"] = found.get("topic", actions) & actions
    return found


def table(head: str) -> dict[str, Shape]:
    """Parse the rows of a table of the page by its first header cell."""
    rows = re.search(rf"^\| {head} \| permission \|\n\| --- \| --- \|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert rows is not None, head
    cells = (row.strip("| ").split(" | ") for row in rows.group(1).splitlines())
    return {operation: parsed(permission) for operation, permission in cells}


def parsed(permission: str) -> Shape:
    """Parse a cell such as "`Sub` or `Get` of topic and group"."""
    actions, _, resources = permission.partition(", for example")[0].partition(" of ")
    kinds = (kind for kind in ("topic", "group", "cluster") if kind in resources.lower())
    return {kind: frozenset(re.findall(r"`(\w+)`", actions)) for kind in kinds}


ROWS = table("operation")


def test_permission_table_has_the_known_operations() -> None:
    assert set(ROWS) == {*OPERATIONS, *CLUSTER_ROWS, *OTHERS, ASKED}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_permission_of_each_request_equals_its_row(operation: str) -> None:
    wrong = {code.name: declared(code) for code in OPERATIONS[operation] if declared(code) != ROWS[operation]}
    assert not wrong, ROWS[operation]


@pytest.mark.parametrize("operation", OTHERS)
def test_permission_of_special_requests_equals_their_row(operation: str) -> None:
    assert shape(OTHERS[operation]) == ROWS[operation]


def test_permission_of_transaction_checks_equals_its_row() -> None:
    assert ROWS[ASKED] == {"topic": frozenset(BY_RECORD[Code.HEART_BEAT][0])}


def test_every_broker_request_has_one_row() -> None:
    """The rows about the cluster are for all requests that need the cluster."""
    listed = [code for codes in OPERATIONS.values() for code in codes]
    by_cluster = {code for code in BY_HEADER if declared(Code(code)).keys() == {"cluster"}}
    assert len(listed) == len(set(listed)) and not by_cluster & set(listed)
    assert {*listed, *by_cluster} == {*BY_HEADER, *BY_BODY}


def test_rows_about_clusters_name_the_action() -> None:
    assert {row: ROWS[row] for row in CLUSTER_ROWS} == {
        row: {"cluster": frozenset({action})} for row, action in CLUSTER_ROWS.items()
    }
    tables: tuple[Mapping[int, Any], ...] = (OF_NAME_SERVER, OF_CONTROLLER, OF_CONTAINER, USERS)
    for rows in tables:
        for code, row in rows.items():
            if code != Code.GET_ROUTEINFO_BY_TOPIC:
                found = shape(need for part in row for need in part(AllFields(), "*"))
                assert found in ({"cluster": frozenset({"Get"})}, {"cluster": frozenset({"Update"})}), code


def grpc_requests() -> Iterable[tuple[str, Any]]:
    """Yield a request for each row of the table of gRPC calls, with all that permissions look at."""
    topic, group = v2.Resource(name="t"), v2.Resource(name="g")
    for name in _NEEDS.keys() - {"TelemetryCommand"}:
        request = getattr(v2, name)()
        fields = request.DESCRIPTOR.fields_by_name
        if "topic" in fields:
            request.topic.CopyFrom(topic)
        if "group" in fields:
            request.group.CopyFrom(group)
        if "message_queue" in fields:
            request.message_queue.topic.CopyFrom(topic)
        if "client_type" in fields:
            request.client_type = v2.ClientType.PUSH_CONSUMER
        if "messages" in fields:
            request.messages.add().topic.CopyFrom(topic)
        yield name.removesuffix("Request"), request
    publishing = v2.Settings(publishing=v2.Publishing(topics=[topic]))
    entries = [v2.SubscriptionEntry(topic=topic)]
    subscription = v2.Settings(subscription=v2.Subscription(group=group, subscriptions=entries))
    yield "Telemetry of a producer", v2.TelemetryCommand(settings=publishing)
    yield "Telemetry of a consumer", v2.TelemetryCommand(settings=subscription)


def test_permission_of_each_grpc_call_equals_its_row() -> None:
    in_page = {
        call.replace("`", ""): permission
        for calls, permission in table("gRPC call").items()
        for call in calls.split(", ")
    }
    assert in_page == {name: shape(needs_of(request, True)) for name, request in grpc_requests()}
