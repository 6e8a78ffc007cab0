"""Questions about replicas: to brokers, to controllers, and to containers of brokers.

A controller is asked by its address, as brokers are; only the one that leads answers most of this.
Standard: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mqgateway.engine import lenient_json
from mqgateway.gateway.client.admin_question import (
    Question,
    as_properties,
    asks,
    body_of,
    note_of,
    nothing,
    settings_of,
)
from mqgateway.gateway.client.answers import decode_body, decode_header
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    AddBrokerRequestHeader,
    CleanControllerBrokerDataRequestHeader,
    ElectMasterRequestHeader,
    ElectMasterResponseHeader,
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
    GetMetaDataResponseHeader,
    GetReplicaInfoRequestHeader,
    GetReplicaInfoResponseHeader,
    RemoveBrokerRequestHeader,
    ResetMasterFlushOffsetHeader,
)


class Elected(NamedTuple):
    """A master that was elected, and the group it leads."""

    header: ElectMasterResponseHeader
    body: bodies.ElectMasterResponseBody | None


# Brokers


@asks(RequestCode.GET_BROKER_HA_STATUS)
def replication() -> Question[bodies.HARuntimeInfo]:
    """The state of replication on a broker."""
    return Question(RequestCode.GET_BROKER_HA_STATUS, body_of(bodies.HARuntimeInfo))


@asks(RequestCode.EXCHANGE_BROKER_HA_INFO)
def replicates_from() -> Question[ExchangeHAInfoResponseHeader]:
    """Where a master is replicated from, and how far it has flushed."""

    def read(answer: RemotingCommand) -> ExchangeHAInfoResponseHeader:
        return decode_header(ExchangeHAInfoResponseHeader, answer)

    return Question(RequestCode.EXCHANGE_BROKER_HA_INFO, read, ExchangeHAInfoRequestHeader())


@asks(RequestCode.RESET_MASTER_FLUSH_OFFSET)
def set_flushed(physical_offset: int) -> Question[None]:
    """Tell a slave how far its master has flushed."""
    header = ResetMasterFlushOffsetHeader(master_flush_offset=physical_offset)
    return Question(RequestCode.RESET_MASTER_FLUSH_OFFSET, nothing, header)


@asks(RequestCode.GET_BROKER_EPOCH_CACHE)
def epochs() -> Question[bodies.EpochEntryCache]:
    """Which part of a broker's log was written under which master."""
    return Question(RequestCode.GET_BROKER_EPOCH_CACHE, body_of(bodies.EpochEntryCache))


# Controllers


@asks(RequestCode.CONTROLLER_GET_METADATA_INFO)
def controllers() -> Question[GetMetaDataResponseHeader]:
    """The controllers, and which of them leads."""

    def read(answer: RemotingCommand) -> GetMetaDataResponseHeader:
        return decode_header(GetMetaDataResponseHeader, answer)

    return Question(RequestCode.CONTROLLER_GET_METADATA_INFO, read)


@asks(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA)
def in_sync(broker_names: Iterable[str]) -> Question[dict[str, bodies.ReplicasInfo]]:
    """The replicas of these groups, and which are in sync."""

    def read(answer: RemotingCommand) -> dict[str, bodies.ReplicasInfo]:
        return decode_body(bodies.BrokerReplicasInfo, answer).replicas_info_table

    body = lenient_json.dumps(list(broker_names))
    return Question(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, read, body=body)


@asks(RequestCode.CONTROLLER_GET_REPLICA_INFO)
def master(broker_name: str) -> Question[GetReplicaInfoResponseHeader]:
    """Who is the master of a group."""

    def read(answer: RemotingCommand) -> GetReplicaInfoResponseHeader:
        return decode_header(GetReplicaInfoResponseHeader, answer)

    header = GetReplicaInfoRequestHeader(broker_name=broker_name)
    return Question(RequestCode.CONTROLLER_GET_REPLICA_INFO, read, header)


@asks(RequestCode.CONTROLLER_ELECT_MASTER)
def elect(cluster: str, broker_name: str, broker_id: int) -> Question[Elected]:
    """Make this replica the master of its group, if it is in sync."""

    def read(answer: RemotingCommand) -> Elected:
        body = decode_body(bodies.ElectMasterResponseBody, answer) if answer.body else None
        return Elected(decode_header(ElectMasterResponseHeader, answer), body)

    header = ElectMasterRequestHeader(
        cluster_name=cluster, broker_name=broker_name, broker_id=broker_id, designate_elect=True
    )
    return Question(RequestCode.CONTROLLER_ELECT_MASTER, read, header)


@asks(RequestCode.CLEAN_BROKER_DATA)
def forget_replicas(
    cluster: str, broker_name: str, broker_ids: Sequence[int] = (), *, living_too: bool = False
) -> Question[None]:
    """Let a controller forget replicas of a group, all of them unless told."""
    header = CleanControllerBrokerDataRequestHeader(
        cluster_name=cluster,
        broker_name=broker_name,
        broker_controller_ids_to_clean=";".join(map(str, broker_ids)) or None,
        is_clean_living_broker=living_too,
    )
    return Question(RequestCode.CLEAN_BROKER_DATA, nothing, header)


@asks(RequestCode.GET_CONTROLLER_CONFIG)
def controller_settings() -> Question[dict[str, str]]:
    """All settings of a controller."""
    return Question(RequestCode.GET_CONTROLLER_CONFIG, settings_of)


@asks(RequestCode.UPDATE_CONTROLLER_CONFIG)
def update_controller_settings(changed: Mapping[str, str]) -> Question[str]:
    """Change settings of a controller, all of these or none; read the server's note on it."""
    return Question(RequestCode.UPDATE_CONTROLLER_CONFIG, note_of, body=as_properties(changed))


# Containers


@asks(RequestCode.ADD_BROKER)
def add_broker(config_path: str) -> Question[None]:
    """Start a broker in a container, from a file of its host."""
    return Question(RequestCode.ADD_BROKER, nothing, AddBrokerRequestHeader(config_path=config_path))


@asks(RequestCode.REMOVE_BROKER)
def remove_broker(cluster: str, broker_name: str, broker_id: int) -> Question[None]:
    """Stop a broker of a container."""
    header = RemoveBrokerRequestHeader(
        broker_cluster_name=cluster, broker_name=broker_name, broker_id=broker_id
    )
    return Question(RequestCode.REMOVE_BROKER, nothing, header)
