"""The controller: replicas of a broker group, its in-sync set, its master.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Bool, Header, Int, Long


class AlterSyncStateSetRequestHeader(Header, code=RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET):
    """A master reports its in-sync set."""

    broker_name: str | None = None
    master_broker_id: Long | None = None
    master_epoch: Int | None = None
    invoke_time: Long = 0  # ms since the epoch


class AlterSyncStateSetResponseHeader(Header):
    """The epoch of the new set."""

    new_sync_state_set_epoch: Int = 0


class ElectMasterRequestHeader(Header, code=RequestCode.CONTROLLER_ELECT_MASTER):
    """Elect a master, a given one if `designate_elect`."""

    cluster_name: str = ""
    broker_name: str = ""
    broker_id: Long
    designate_elect: Bool = False
    invoke_time: Long | None = None  # ms since the epoch


class ElectMasterResponseHeader(Header):
    """The elected master."""

    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None


class RegisterBrokerToControllerRequestHeader(Header, code=RequestCode.CONTROLLER_REGISTER_BROKER):
    """A replica with an id registers its address."""

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: Long | None = None
    broker_address: str | None = None
    invoke_time: Long = 0  # ms since the epoch


class RegisterBrokerToControllerResponseHeader(Header):
    """The master that the replica is to follow."""

    cluster_name: str | None = None
    broker_name: str | None = None
    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None


class GetReplicaInfoRequestHeader(Header, code=RequestCode.CONTROLLER_GET_REPLICA_INFO):
    """The master of a group."""

    broker_name: str | None = None


class GetReplicaInfoResponseHeader(Header):
    """The master of the group."""

    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: Int | None = None


class GetMetaDataResponseHeader(Header):
    """The controllers, with the leader among them."""

    group: str | None = None
    controller_leader_id: str | None = None
    controller_leader_address: str | None = None
    is_leader: Bool = False
    peers: str | None = None  # joined by `;`


class GetNextBrokerIdRequestHeader(Header, code=RequestCode.CONTROLLER_GET_NEXT_BROKER_ID):
    """Query the next id for a new replica."""

    cluster_name: str | None = None
    broker_name: str | None = None


class GetNextBrokerIdResponseHeader(Header):
    """The next id."""

    cluster_name: str | None = None
    broker_name: str | None = None
    next_broker_id: Long | None = None


class ApplyBrokerIdRequestHeader(Header, code=RequestCode.CONTROLLER_APPLY_BROKER_ID):
    """A new replica applies for an id."""

    cluster_name: str | None = None
    broker_name: str | None = None
    applied_broker_id: Long | None = None
    register_check_code: str | None = None


class ApplyBrokerIdResponseHeader(Header):
    """The id is accepted."""

    cluster_name: str | None = None
    broker_name: str | None = None


class CleanControllerBrokerDataRequestHeader(Header, code=RequestCode.CLEAN_BROKER_DATA):
    """Remove replicas."""

    cluster_name: str | None = None
    broker_name: str
    broker_controller_ids_to_clean: str | None = None  # joined by `;`
    is_clean_living_broker: Bool = False
    invoke_time: Long = 0  # ms since the epoch


class NotifyBrokerRoleChangedRequestHeader(Header, code=RequestCode.NOTIFY_BROKER_ROLE_CHANGED):
    """The controller notifies a broker of the current master."""

    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None
    master_broker_id: Long | None = None


class BrokerCloseChannelRequest(Header, code=RequestCode.BROKER_CLOSE_CHANNEL_REQUEST):
    """In the controllers' own log: a broker's connection closed."""

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: Long | None = None


class BrokerCloseChannelResponse(Header):
    """No fields."""


class CheckNotActiveBrokerRequest(Header, code=RequestCode.CHECK_NOT_ACTIVE_BROKER_REQUEST):
    """In the controllers' own log: check for silent brokers."""

    check_time_millis: Long | None = None  # ms since the epoch


class CheckNotActiveBrokerResponse(Header):
    """No fields; the answer is the body."""


class GetBrokerLiveInfoRequest(Header, code=RequestCode.GET_BROKER_LIVE_INFO_REQUEST):
    """In the controllers' own log: query the brokers that are alive."""

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: Long | None = None


class GetBrokerLiveInfoResponse(Header):
    """No fields; the answer is the body."""


class GetSyncStateDataRequest(Header, code=RequestCode.GET_SYNC_STATE_DATA_REQUEST):
    """In the controllers' own log: read the sync sets."""

    invoke_time: Long | None = None  # ms since the epoch


class RaftBrokerHeartBeatEventRequest(Header, code=RequestCode.RAFT_BROKER_HEART_BEAT_EVENT_REQUEST):
    """In the controllers' own log: a heartbeat."""

    cluster_name_identity_info: str | None = None
    broker_name_identity_info: str | None = None
    broker_id_identity_info: Long | None = None
    broker_name: str | None = None
    broker_addr: str | None = None
    heartbeat_timeout_millis: Long | None = None  # ms of silence after which the broker is gone
    broker_id: Long | None = None
    last_update_timestamp: Long | None = None  # ms since the epoch
    epoch: Int | None = None
    max_offset: Long | None = None
    confirm_offset: Long | None = None
    election_priority: Int | None = None


class RaftBrokerHeartBeatEventResponse(Header):
    """No fields."""
