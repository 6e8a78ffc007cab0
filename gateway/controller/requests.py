"""Request functions of a controller.

Each converts a request to a decision of `engine.controller`, and its result to RocketMQ's codes, headers and
bodies. Requests of brokers are answered by the leading controller; others refuse them (2007). Every
controller answers requests for the leader, settings and heartbeats. RocketMQ: `ControllerRequestProcessor`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine import lenient_json
from mqgateway.engine.configuration import ChangeForbidden
from mqgateway.engine.controller import decisions
from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.controller import Decide, Decided
from mqgateway.engine.controller.decisions import ControllerDecision, ControllerReason, RegistrationAnswer
from mqgateway.engine.controller.liveness import (
    DEFAULT_TIMEOUT,
    INT_MAX,
    ReplicaHeartbeat,
    ReplicaKey,
    TooManyBrokers,
)
from mqgateway.engine.controller.state import NotLeading
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import load_properties
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.bodies import (
    BrokerMemberGroup,
    BrokerReplicasInfo,
    ElectMasterResponseBody,
    ReplicaIdentity,
    ReplicasInfo,
    SyncStateSet,
)
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.controller.context import ControllerContext
from mqgateway.gateway.controller.peers import shown
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import RequestFunction

log = logging.getLogger(__name__)

A = TypeVar("A")

CODES = {reason: ResponseCode[f"CONTROLLER_{reason.name}"] for reason in ControllerReason}

# Brokers


def get_next_broker_id(context: ControllerContext, call: Call) -> Deferred[Reply]:
    """Serve 1012: return the id that a new replica should apply for."""
    header = call.header
    assert isinstance(header, headers.GetNextBrokerIdRequestHeader)
    cluster, name = header.cluster_name, header.broker_name

    def answer(decision: ControllerDecision[int]) -> Reply:
        found = headers.GetNextBrokerIdResponseHeader(
            cluster_name=cluster, broker_name=name, next_broker_id=decision.answer
        )
        return _reply(decision, found)

    return _decide(context, lambda world: decisions.next_broker_id(world, name or ""), answer)


def apply_broker_id(context: ControllerContext, call: Call) -> Deferred[Reply]:
    """Serve 1013: assign an id to a replica."""
    header = call.header
    assert isinstance(header, headers.ApplyBrokerIdRequestHeader)
    cluster, name = _needed(header.cluster_name, "clusterName"), _needed(header.broker_name, "brokerName")
    found = headers.ApplyBrokerIdResponseHeader(cluster_name=cluster, broker_name=name)

    def decide(world: decisions.DecisionInput) -> ControllerDecision[None]:
        return decisions.apply_broker_id(
            world, cluster, name, header.applied_broker_id, header.register_check_code
        )

    return _decide(context, decide, lambda decision: _reply(decision, found))


def register_broker(context: ControllerContext, call: Call) -> Deferred[Reply]:
    """Serve 1003: register a replica's address; return its master and, always, the sync-state set."""
    header = call.header
    assert isinstance(header, headers.RegisterBrokerToControllerRequestHeader)
    cluster, name = header.cluster_name, header.broker_name or ""

    def answer(decision: ControllerDecision[RegistrationAnswer | None]) -> Reply:
        response = headers.RegisterBrokerToControllerResponseHeader(cluster_name=cluster, broker_name=name)
        registered = decision.answer
        if registered is None:
            return _reply(decision, response)
        found = registered.found
        if registered.has_master:
            response.master_broker_id, response.master_address = found.master, found.master_address
            response.master_epoch, response.sync_state_set_epoch = (
                found.master_epoch,
                found.sync_state_set_epoch,
            )
        return _reply(decision, response, _sync_state_set(found))

    return _decide(
        context,
        lambda world: decisions.register_broker(world, name, header.broker_id, header.broker_address),
        answer,
    )


def get_replica_info(context: ControllerContext, call: Call) -> Deferred[Reply]:
    """Serve 1004: return the master and the sync-state set."""
    header = call.header
    assert isinstance(header, headers.GetReplicaInfoRequestHeader)

    def answer(decision: ControllerDecision[BrokerSet | None]) -> Reply:
        found = decision.answer
        if found is None:
            return _reply(decision, headers.GetReplicaInfoResponseHeader())
        response = headers.GetReplicaInfoResponseHeader(
            master_broker_id=found.master,
            master_address=found.master_address,
            master_epoch=found.master_epoch,
        )
        return _reply(decision, response, _sync_state_set(found))

    return _decide(context, lambda world: decisions.replica_info(world, header.broker_name or ""), answer)


def alter_sync_state_set(context: ControllerContext, call: Call) -> Deferred[Reply]:
    """Serve 1001: change the sync-state set on a master's request."""
    header = call.header
    assert isinstance(header, headers.AlterSyncStateSetRequestHeader)
    try:
        wanted = SyncStateSet.decode(call.body)
    except BodyError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None

    def decide(world: decisions.DecisionInput) -> ControllerDecision[BrokerSet | None]:
        return decisions.alter_sync_state_set(
            world,
            header.broker_name or "",
            master=header.master_broker_id,
            master_epoch=header.master_epoch,
            ids=frozenset(wanted.sync_state_set),
            ids_epoch=wanted.sync_state_set_epoch,
        )

    def answer(decision: ControllerDecision[BrokerSet | None]) -> Reply:
        after = decision.answer
        if after is None:
            return _reply(decision, headers.AlterSyncStateSetResponseHeader())
        response = headers.AlterSyncStateSetResponseHeader(
            new_sync_state_set_epoch=after.sync_state_set_epoch
        )
        return _reply(decision, response, _sync_state_set(after))

    return _decide(context, decide, answer)


def broker_heartbeat(context: ControllerContext, call: Call) -> Reply:
    """Serve 904: record a broker as alive while this connection is open."""
    header = call.header
    assert isinstance(header, headers.BrokerHeartbeatRequestHeader)
    if header.broker_id is None:
        raise RequestError(ResponseCode.CONTROLLER_INVALID_REQUEST, "Heart beat with empty brokerId")
    key = ReplicaKey(header.cluster_name, header.broker_name, header.broker_id)
    heartbeat = ReplicaHeartbeat(
        address=header.broker_addr,
        timeout=_or(header.heartbeat_timeout_mills, DEFAULT_TIMEOUT),
        epoch=_or(header.epoch, -1),
        max_offset=_or(header.max_offset, -1),
        confirm_offset=_or(header.confirm_offset, -1),
        priority=_or(header.election_priority, INT_MAX),
    )
    try:
        context.controller.hear(key, heartbeat, call.peer)
    except TooManyBrokers as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
    call.peer.on_lost(context.controller.connection_lost)
    return Reply(remark="Heart beat success")


# Brokers and administrators


def elect_master(context: ControllerContext, call: Call) -> Deferred[Reply]:
    """Serve 1002: elect a master, a given one if it is designated."""
    header = call.header
    assert isinstance(header, headers.ElectMasterRequestHeader)

    def answer(decision: ControllerDecision[BrokerSet | None]) -> Reply:
        after = decision.answer
        if after is None:
            return _reply(decision, headers.ElectMasterResponseHeader())
        response = headers.ElectMasterResponseHeader(
            master_broker_id=after.master,
            master_address=after.master_address,
            master_epoch=after.master_epoch,
            sync_state_set_epoch=after.sync_state_set_epoch,
        )
        group = None if decision.refusal else _member_group(after)
        body = ElectMasterResponseBody(broker_member_group=group, sync_state_set=set(after.sync_state_set))
        # RocketMQ writes bare keys here, which its own mqadmin cannot read.
        return _reply(decision, response, body.encode_standard())

    return _waiting(
        lambda report: context.controller.elect(
            header.broker_name, header.broker_id, header.designate_elect, report
        ),
        answer,
    )


def get_metadata(context: ControllerContext, call: Call) -> Reply:
    """Serve 1005: return the controllers and the leader."""
    state = context.controller.state
    leader = state.leader
    response = headers.GetMetaDataResponseHeader(
        group=context.group,
        controller_leader_id=None if leader is None else leader.peer_id,
        controller_leader_address=None if leader is None else leader.address,
        is_leader=state.is_leader,
        peers=shown(context.peers),
    )
    return Reply(header=response)


# Administrators


def get_sync_state_data(context: ControllerContext, call: Call) -> Reply | Deferred[Reply]:
    """Serve 1006: return broker sets by name, with their in-sync and live replicas."""
    names = _names(call.body)
    if not names:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "not set any response code")

    def answer(decision: ControllerDecision[list[BrokerSet]]) -> Reply:
        table = {one.name: _replicas_info(context, one) for one in decision.answer}
        return Reply(body=BrokerReplicasInfo(replicas_info_table=table).encode())

    return _decide(context, lambda world: decisions.sync_state_data(world, names), answer)


def clean_broker_data(context: ControllerContext, call: Call) -> Deferred[Reply]:
    """Serve 1011: remove replicas."""
    header = call.header
    assert isinstance(header, headers.CleanControllerBrokerDataRequestHeader)
    log.info("%s has data of %s cleaned", call.peer.address, header.broker_name)

    def decide(world: decisions.DecisionInput) -> ControllerDecision[None]:
        return decisions.clean_broker_data(
            world, header.broker_name, header.broker_controller_ids_to_clean, header.is_clean_living_broker
        )

    return _decide(context, decide, lambda decision: _reply(decision, None))


def update_config(context: ControllerContext, call: Call) -> Reply:
    """Serve 1009: update settings from properties text, all or none; unknown names are ignored."""
    try:
        found = load_properties(call.body, "request")
    except ConfigError:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "string2Properties error") from None
    log.info("%s updates settings", call.peer.address)
    try:
        note = context.configuration.update(found)
    except ChangeForbidden as refusal:
        raise RequestError(ResponseCode.NO_PERMISSION, str(refusal)) from None
    except ConfigError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
    return Reply(remark=note or None)


def get_config(context: ControllerContext, call: Call) -> Reply:
    """Serve 1010: return all settings as properties text."""
    return Reply(body=context.configuration.as_properties().encode())


REQUESTS: dict[int, RequestFunction] = {
    RequestCode.BROKER_HEARTBEAT: broker_heartbeat,
    RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET: alter_sync_state_set,
    RequestCode.CONTROLLER_ELECT_MASTER: elect_master,
    RequestCode.CONTROLLER_REGISTER_BROKER: register_broker,
    RequestCode.CONTROLLER_GET_REPLICA_INFO: get_replica_info,
    RequestCode.CONTROLLER_GET_METADATA_INFO: get_metadata,
    RequestCode.CONTROLLER_GET_SYNC_STATE_DATA: get_sync_state_data,
    RequestCode.UPDATE_CONTROLLER_CONFIG: update_config,
    RequestCode.GET_CONTROLLER_CONFIG: get_config,
    RequestCode.CLEAN_BROKER_DATA: clean_broker_data,
    RequestCode.CONTROLLER_GET_NEXT_BROKER_ID: get_next_broker_id,
    RequestCode.CONTROLLER_APPLY_BROKER_ID: apply_broker_id,
}

_OF_OTHERS = "brokers, name servers or containers answer this"
_OF_RAFT = (
    RequestCode.BROKER_CLOSE_CHANNEL_REQUEST,
    RequestCode.CHECK_NOT_ACTIVE_BROKER_REQUEST,
    RequestCode.GET_BROKER_LIVE_INFO_REQUEST,
    RequestCode.GET_SYNC_STATE_DATA_REQUEST,
    RequestCode.RAFT_BROKER_HEART_BEAT_EVENT_REQUEST,
)

UNSUPPORTED: dict[int, str] = {
    **{code: _OF_OTHERS for code in RequestCode if code not in REQUESTS},
    RequestCode.NOTIFY_BROKER_ROLE_CHANGED: "controllers send this to brokers",
    **dict.fromkeys(_OF_RAFT, "an entry of the log of the standard's controllers, no request"),
}


def refusal(error: BaseException) -> Reply | None:
    """Return the answer to an error that only controllers know, else None; see `Dispatcher`."""
    if isinstance(error, NotLeading):
        return Reply(ResponseCode.CONTROLLER_NOT_LEADER, remark="The controller is not in leader state")
    return None


def _decide(
    context: ControllerContext, decide: Decide[A], answer: Callable[[ControllerDecision[A]], Reply]
) -> Deferred[Reply]:
    return _waiting(lambda report: context.controller.decide(decide, report), answer)


def _waiting(
    begin: Callable[[Decided[A]], None], answer: Callable[[ControllerDecision[A]], Reply]
) -> Deferred[Reply]:
    """Return the answer to a decision, once it is made."""
    waiting: Deferred[Any] = Deferred()

    def report(outcome: ControllerDecision[A] | Exception) -> None:
        if isinstance(outcome, Exception):
            waiting.errback(outcome)
        else:
            waiting.callback(outcome)

    begin(report)
    return waiting.addCallback(answer)


def _reply(decision: ControllerDecision[Any], header: Header | None, body: bytes = b"") -> Reply:
    if decision.refusal is None:
        return Reply(header=header, body=body)
    return Reply(CODES[decision.refusal.reason], header, body, decision.refusal.remark)


def _sync_state_set(one: BrokerSet) -> bytes:
    return SyncStateSet(set(one.sync_state_set), one.sync_state_set_epoch).encode()


def _member_group(one: BrokerSet) -> BrokerMemberGroup:
    addresses = {number: replica.address for number, replica in sorted(one.replicas.items())}
    return BrokerMemberGroup(cluster=one.cluster, broker_name=one.name, broker_addrs=addresses)


def _replicas_info(context: ControllerContext, one: BrokerSet) -> ReplicasInfo:
    identities = {
        number: ReplicaIdentity(
            one.name,
            number,
            replica.address,
            context.controller.is_alive(ReplicaKey(one.cluster, one.name, number)),
        )
        for number, replica in sorted(one.replicas.items())
    }
    return ReplicasInfo(
        master_broker_id=one.master,
        master_address=one.master_address,
        master_epoch=one.master_epoch,
        sync_state_set_epoch=one.sync_state_set_epoch,
        in_sync_replicas=[who for number, who in identities.items() if number in one.sync_state_set],
        not_in_sync_replicas=[who for number, who in identities.items() if number not in one.sync_state_set],
    )


def _names(body: bytes) -> list[str]:
    """Parse the names in a JSON array; empty for an empty body."""
    if not body:
        return []
    try:
        found = lenient_json.loads(body)
    except ValueError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the body is not JSON: {error}") from None
    if not isinstance(found, list):
        raise RequestError(ResponseCode.SYSTEM_ERROR, "the body is not an array of broker names")
    return [name for name in found if isinstance(name, str)]


def _needed(value: str | None, name: str) -> str:
    if not value:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the custom field <{name}> is null")
    return value


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
