"""Requests about replicas: to brokers, to controllers and to broker containers.

Controllers are addressed by `host:port`, like brokers. Only the leader answers most of these requests.
RocketMQ: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`.
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
    """Elected master and its broker group."""

    header: ElectMasterResponseHeader
    body: bodies.ElectMasterResponseBody | None


# Brokers


@asks(RequestCode.GET_BROKER_HA_STATUS)
def replication() -> Question[bodies.HARuntimeInfo]:
    """Return the replication state of a broker."""
    return Question(RequestCode.GET_BROKER_HA_STATUS, body_of(bodies.HARuntimeInfo))


@asks(RequestCode.EXCHANGE_BROKER_HA_INFO)
def replicates_from() -> Question[ExchangeHAInfoResponseHeader]:
    """Return the HA address of a master and its flushed offset."""

    def read(answer: RemotingCommand) -> ExchangeHAInfoResponseHeader:
        return decode_header(ExchangeHAInfoResponseHeader, answer)

    return Question(RequestCode.EXCHANGE_BROKER_HA_INFO, read, ExchangeHAInfoRequestHeader())


@asks(RequestCode.RESET_MASTER_FLUSH_OFFSET)
def set_flushed(physical_offset: int) -> Question[None]:
    """Set the master's flushed offset on a slave."""
    header = ResetMasterFlushOffsetHeader(master_flush_offset=physical_offset)
    return Question(RequestCode.RESET_MASTER_FLUSH_OFFSET, nothing, header)


@asks(RequestCode.GET_BROKER_EPOCH_CACHE)
def epochs() -> Question[bodies.EpochEntryCache]:
    """Return the epochs of a broker's log: the range written under each master."""
    return Question(RequestCode.GET_BROKER_EPOCH_CACHE, body_of(bodies.EpochEntryCache))


# Controllers


@asks(RequestCode.CONTROLLER_GET_METADATA_INFO)
def controllers() -> Question[GetMetaDataResponseHeader]:
    """Return the controllers and their leader."""

    def read(answer: RemotingCommand) -> GetMetaDataResponseHeader:
        return decode_header(GetMetaDataResponseHeader, answer)

    return Question(RequestCode.CONTROLLER_GET_METADATA_INFO, read)


@asks(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA)
def in_sync(broker_names: Iterable[str]) -> Question[dict[str, bodies.ReplicasInfo]]:
    """Return the replicas of broker groups, with their in-sync state."""

    def read(answer: RemotingCommand) -> dict[str, bodies.ReplicasInfo]:
        return decode_body(bodies.BrokerReplicasInfo, answer).replicas_info_table

    body = lenient_json.dumps(list(broker_names))
    return Question(RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, read, body=body)


@asks(RequestCode.CONTROLLER_GET_REPLICA_INFO)
def master(broker_name: str) -> Question[GetReplicaInfoResponseHeader]:
    """Return the master of a broker group."""

    def read(answer: RemotingCommand) -> GetReplicaInfoResponseHeader:
        return decode_header(GetReplicaInfoResponseHeader, answer)

    header = GetReplicaInfoRequestHeader(broker_name=broker_name)
    return Question(RequestCode.CONTROLLER_GET_REPLICA_INFO, read, header)


@asks(RequestCode.CONTROLLER_ELECT_MASTER)
def elect(cluster: str, broker_name: str, broker_id: int) -> Question[Elected]:
    """Elect a replica as master of its group; it must be in sync."""

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
    """Remove replicas of a broker group from a controller: those in `broker_ids`, else all.

    Replicas that are alive are removed only with `living_too`.
    """
    header = CleanControllerBrokerDataRequestHeader(
        cluster_name=cluster,
        broker_name=broker_name,
        broker_controller_ids_to_clean=";".join(map(str, broker_ids)) or None,
        is_clean_living_broker=living_too,
    )
    return Question(RequestCode.CLEAN_BROKER_DATA, nothing, header)


@asks(RequestCode.GET_CONTROLLER_CONFIG)
def controller_settings() -> Question[dict[str, str]]:
    """Return all settings of a controller."""
    return Question(RequestCode.GET_CONTROLLER_CONFIG, settings_of)


@asks(RequestCode.UPDATE_CONTROLLER_CONFIG)
def update_controller_settings(changed: Mapping[str, str]) -> Question[str]:
    """Update settings of a controller atomically: all of them or none. Returns the server's remark."""
    return Question(RequestCode.UPDATE_CONTROLLER_CONFIG, note_of, body=as_properties(changed))


# Containers


@asks(RequestCode.ADD_BROKER)
def add_broker(config_path: str) -> Question[None]:
    """Start a broker in a container from a configuration file on its host."""
    return Question(RequestCode.ADD_BROKER, nothing, AddBrokerRequestHeader(config_path=config_path))


@asks(RequestCode.REMOVE_BROKER)
def remove_broker(cluster: str, broker_name: str, broker_id: int) -> Question[None]:
    """Stop a broker of a container."""
    header = RemoveBrokerRequestHeader(
        broker_cluster_name=cluster, broker_name=broker_name, broker_id=broker_id
    )
    return Question(RequestCode.REMOVE_BROKER, nothing, header)
