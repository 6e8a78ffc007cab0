"""Each API of Kafka with each kind of credentials: none, wrong, of a user without rights, right.

The APIs are those that a broker with access control announces. A request names a topic, a group and other
things that the user without rights must not reach. An API that answers such a user without a refusal fails,
unless `OPEN` says why; so does one that is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.access.users import User, UserType
from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS, SASL_HANDSHAKE
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.codec.schema import NO_UUID, Field, Message, covers
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import PASSWORD, KafkaClient, KafkaScene, kafka_scene

SECRET = "secret"
REFUSALS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
OPEN = {
    "ApiVersions": "a client needs the versions before anything else",
    "SaslHandshake": "it authenticates",
    "SaslAuthenticate": "it authenticates",
    "DescribeCluster": "the address of the broker, which the client has",
    "GetTelemetrySubscriptions": "metrics of the client itself",
    "PushTelemetry": "metrics of the client itself",
    "ListGroups": "has the groups that the user may see, which are none",
    "RenewDelegationToken": "needs the secret of a token, and its owner or renewer",
    "ExpireDelegationToken": "needs the secret of a token, and its owner or renewer",
    "DescribeDelegationToken": "has the tokens that the user may see, which are none",
    "ListTransactions": "has the transactions that the user may see, which are none",
}
"""APIs that answer a user without rights without a refusal, and why that is right."""
VALUES: dict[str, Any] = {
    "acks": 1,
    "host": "*",
    "host_filter": "*",
    "operation": 3,
    "pattern_type_filter": 3,
    "permission_type": 3,
    "principal": "User:other",
    "principal_filter": "User:other",
    "resource_pattern_type": 3,
    "resource_type_filter": 2,
    "configuration_keys": "retention.ms",
    "count": 9,
    "generation_id_or_member_epoch": -1,
    "group_instance_id": None,
    "iterations": 4096,
    "key_type": 0,
    "num_partitions": 1,
    "partition_max_bytes": 1 << 20,
    "max_bytes": 1 << 20,
    "mechanism": 1,
    "protocol_type": "consumer",
    "rebalance_timeout_ms": 1000,
    "records": bytes(build_batch([Record(b"k", b"v", (), 0, 0)], base_timestamp=1_000_000)),
    "replica_id": -1,
    "replication_factor": 1,
    "resource_type": 2,
    "response_partition_limit": 2000,
    "session_epoch": -1,
    "session_timeout_ms": 10_000,
    "timestamp": -1,
    "value": "1000",
}
"""Values of fields by their names, where 0 and the name of everything are not what a client sends."""
API_VALUES: dict[tuple[str, str], Any] = {
    ("AlterClientQuotas", "entity_type"): "user",
    ("AlterClientQuotas", "key"): "producer_byte_rate",
    ("AlterClientQuotas", "value"): 1000.0,
    ("DescribeClientQuotas", "entity_type"): "user",
    ("Produce", "transactional_id"): None,
    ("SaslHandshake", "mechanism"): "PLAIN",
    ("ApiVersions", "cluster_id"): None,
    ("ApiVersions", "node_id"): -1,
    ("DeleteTopics", "topic_id"): NO_UUID,
    ("Metadata", "topic_id"): NO_UUID,
    ("DescribeQuorum", "topic_name"): "__cluster_metadata",
    ("ListConfigResources", "resource_types"): 2,
    ("ListTransactions", "transactional_id_pattern"): None,
    ("InitProducerId", "producer_id"): -1,
    ("InitProducerId", "producer_epoch"): -1,
    ("InitProducerId", "transaction_timeout_ms"): 1000,
}


def filled(kind: type[Message], api: str, version: int, topic_id: bytes) -> Any:
    """Return a request, or a struct of it, that names the topic and the group wherever it has a name."""
    message = kind()
    for field in kind.FIELDS:
        if covers(field.versions, version) and field.tag < 0:
            setattr(message, field.name, value_of(field, api, version, topic_id))
    return message


def value_of(field: Field, api: str, version: int, topic_id: bytes) -> Any:
    """Return the value of a field."""
    is_array, kind = field.kind.startswith("[]"), field.kind.removeprefix("[]")
    known = API_VALUES.get((api, field.name), VALUES.get(field.name, ...))
    if field.of is not None:
        value: Any = filled(field.of, api, version, topic_id)
    elif known is not ...:
        value = known
    else:
        value = {"string": SECRET, "uuid": topic_id, "bytes": b"", "records": b"", "bool": False}.get(kind, 0)
    return [value] if is_array else value


def codes_of(message: Any) -> set[int]:
    """Return all error codes of an answer."""
    if isinstance(message, list | tuple):
        return set().union(*map(codes_of, message))
    if not isinstance(message, Message):
        return set()
    own = {message.error_code} if hasattr(message, "error_code") else set()
    return own.union(*(codes_of(getattr(message, field.name)) for field in message.FIELDS))


class World:
    """A broker with access control, and a topic and a user of each kind."""

    def __init__(self, scene: KafkaScene) -> None:
        self.scene = scene
        scene.users.put(User("root", PASSWORD, UserType.SUPER), User("other", PASSWORD))
        root = scene.client(user="root")
        self.topic_id = root.ask(CreateTopicsRequest([CreatableTopic(SECRET, 1, -1)])).topics[0].topic_id
        self.keys = [one.api_key for one in root.ask(ApiVersionsRequest("tests", "1.0")).api_keys]

    def request(self, key: int) -> Any:
        """Return the request of an API."""
        return filled(APIS[key].request, APIS[key].name, APIS[key].latest, self.topic_id)

    def codes(self, client: KafkaClient, key: int) -> set[int]:
        """Return the error codes that a client gets for the request of an API."""
        return codes_of(client.ask(self.request(key), seconds=20))


@contextmanager
def world() -> Iterator[World]:
    """Yield a broker with access control."""
    with kafka_scene(**ACCESS, kafka_client_telemetry=True, kafka_delegation_token_secret_key="key") as scene:
        yield World(scene)


def is_served(client: KafkaClient, request: Message) -> bool:
    """Return True if a client gets an answer."""
    client.write(client.frame(request))
    return bool(client.frames(1, 3))


def test_without_credentials_a_client_gets_versions_and_mechanisms_only() -> None:
    with world() as broker:
        served = {key for key in broker.keys if is_served(broker.scene.stranger(), broker.request(key))}
        assert served == {API_VERSIONS, SASL_HANDSHAKE}


def test_with_wrong_credentials_a_client_gets_nothing() -> None:
    with world() as broker:
        for key in broker.keys:
            client = broker.scene.stranger()
            client.ask(SaslHandshakeRequest("PLAIN"))
            wrong = client.ask(SaslAuthenticateRequest(b"\0root\0wrong"))
            assert wrong.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert not is_served(client, broker.request(key)) and client.lost, APIS[key].name


def test_with_credentials_of_a_user_without_rights_a_client_is_refused() -> None:
    with world() as broker:
        served = set()
        for key in broker.keys:
            codes = broker.codes(broker.scene.client(user="other"), key)
            if not codes & REFUSALS:
                served.add(APIS[key].name)
        assert served == set(OPEN)


def test_with_the_right_credentials_a_client_is_not_refused() -> None:
    with world() as broker:
        refused = {
            APIS[key].name
            for key in broker.keys
            if broker.codes(broker.scene.client(user="root"), key) & REFUSALS
        }
        assert refused == set()


@pytest.mark.parametrize("name", OPEN)
def test_apis_that_are_open_exist(name: str) -> None:
    assert name in {api.name for api in APIS.values()}
