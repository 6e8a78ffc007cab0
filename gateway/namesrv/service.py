"""Name server process: its request table, timers and socket.

`NameServerService` assembles the parts. `REQUESTS` are the supported codes, `UNSUPPORTED` the others with
reasons. Besides requests, expired brokers are removed every 5 s, the KV configuration is logged every 10
minutes, and brokers are removed at once when their connection ends. RocketMQ: `NamesrvController`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from twisted.internet.defer import Deferred

from mqgateway.engine.options import NamesrvOptions, OptionSet, RemotingOptions, TlsOptions
from mqgateway.gateway.access.needs import USERS
from mqgateway.gateway.access.server_access import ServerAccess
from mqgateway.gateway.access.server_needs import OF_NAME_SERVER
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import NotifyMinBrokerIdChangeRequestHeader
from mqgateway.gateway.namesrv import requests
from mqgateway.gateway.namesrv.name_server import NameServer, tables_folder
from mqgateway.gateway.namesrv.registration import MinBrokerIdNotice
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.call import Call, Peer, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher, Hook, LongRequestFunction, RequestFunction
from mqgateway.gateway.remoting.limits import BodyLimit, body_limits
from mqgateway.gateway.remoting.service import RemotingService
from mqgateway.gateway.runtime.service import Runtime

log = logging.getLogger(__name__)

SAVE_INTERVAL = 10
"""Interval of retries of failed file writes, in seconds."""
KV_PRINT_INTERVAL = 600
"""Interval at which the KV configuration is logged, in seconds."""

REQUESTS: dict[int, RequestFunction | LongRequestFunction] = {
    RequestCode.PUT_KV_CONFIG: requests.put_kv,
    RequestCode.GET_KV_CONFIG: requests.get_kv,
    RequestCode.DELETE_KV_CONFIG: requests.delete_kv,
    RequestCode.REGISTER_BROKER: requests.register_broker,
    RequestCode.UNREGISTER_BROKER: requests.unregister_broker,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: requests.get_route,
    RequestCode.GET_BROKER_CLUSTER_INFO: requests.get_cluster_info,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: requests.wipe_write_perm,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: requests.get_all_topics,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: requests.delete_topic,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: requests.register_topic,
    RequestCode.GET_KVLIST_BY_NAMESPACE: requests.get_kv_list,
    RequestCode.GET_TOPICS_BY_CLUSTER: requests.get_topics_of_cluster,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: requests.get_system_topics,
    RequestCode.GET_UNIT_TOPIC_LIST: requests.get_unit_topics,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: requests.get_unit_sub_topics,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: requests.get_unit_sub_topics_of_no_unit,
    RequestCode.UPDATE_NAMESRV_CONFIG: requests.update_config,
    RequestCode.GET_NAMESRV_CONFIG: requests.get_config,
    RequestCode.QUERY_DATA_VERSION: requests.query_data_version,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: requests.add_write_perm,
    RequestCode.GET_BROKER_MEMBER_GROUP: requests.get_broker_member_group,
    RequestCode.BROKER_HEARTBEAT: requests.broker_heartbeat,
}

ABOUT_ROUTES: dict[int, RequestFunction] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: requests.get_route,
    RequestCode.GET_BROKER_CLUSTER_INFO: requests.get_cluster_info,
}
"""Requests whose answers are incomplete until all brokers have registered."""

_OF_BROKERS = "brokers answer this, the name server has no messages, groups or offsets"
_TO_CLIENTS = "brokers send this to clients"
_TO_BROKERS = "the name server or a controller sends this to brokers"
_OF_CONTROLLERS = "controllers answer this, on a port of their own"
_OF_CONTAINERS = "broker containers answer this, and the name server of `mqgateway serve --brokers`"
_OF_RAFT = "an entry of the controllers' own log, not a request"
_OF_THE_PAST = "filter servers are history: nothing in 5.x sends or answers this"

_BY_REASON: dict[str, tuple[int, ...]] = {
    _OF_BROKERS: (
        RequestCode.SEND_MESSAGE,
        RequestCode.PULL_MESSAGE,
        RequestCode.QUERY_MESSAGE,
        RequestCode.QUERY_BROKER_OFFSET,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.UPDATE_CONSUMER_OFFSET,
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.GET_ALL_TOPIC_CONFIG,
        RequestCode.GET_TOPIC_CONFIG_LIST,
        RequestCode.GET_TOPIC_NAME_LIST,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.GET_BROKER_CONFIG,
        RequestCode.TRIGGER_DELETE_FILES,
        RequestCode.GET_BROKER_RUNTIME_INFO,
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
        RequestCode.GET_MAX_OFFSET,
        RequestCode.GET_MIN_OFFSET,
        RequestCode.GET_EARLIEST_MSG_STORETIME,
        RequestCode.VIEW_MESSAGE_BY_ID,
        RequestCode.HEART_BEAT,
        RequestCode.UNREGISTER_CLIENT,
        RequestCode.CONSUMER_SEND_MSG_BACK,
        RequestCode.END_TRANSACTION,
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
        RequestCode.GET_ALL_CONSUMER_OFFSET,
        RequestCode.GET_ALL_DELAY_OFFSET,
        RequestCode.CHECK_CLIENT_CONFIG,
        RequestCode.GET_CLIENT_CONFIG,
        RequestCode.GET_TIMER_CHECK_POINT,
        RequestCode.GET_TIMER_METRICS,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
        RequestCode.GET_TOPIC_STATS_INFO,
        RequestCode.GET_CONSUMER_CONNECTION_LIST,
        RequestCode.GET_PRODUCER_CONNECTION_LIST,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
        RequestCode.GET_CONSUME_STATS,
        RequestCode.SUSPEND_CONSUMER,
        RequestCode.RESUME_CONSUMER,
        RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER,
        RequestCode.ADJUST_CONSUMER_THREAD_POOL,
        RequestCode.WHO_CONSUME_THE_MESSAGE,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
        RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
        RequestCode.QUERY_CONSUME_TIME_SPAN,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
        RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE,
        RequestCode.GET_CONSUMER_RUNNING_INFO,
        RequestCode.QUERY_CORRECTION_OFFSET,
        RequestCode.CONSUME_MESSAGE_DIRECTLY,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.CLONE_GROUP_OFFSET,
        RequestCode.VIEW_BROKER_STATS_DATA,
        RequestCode.CLEAN_UNUSED_TOPIC,
        RequestCode.GET_BROKER_CONSUME_STATS,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.QUERY_CONSUME_QUEUE,
        RequestCode.RESUME_CHECK_HALF_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.GET_ALL_PRODUCER_INFO,
        RequestCode.DELETE_EXPIRED_COMMITLOG,
        RequestCode.QUERY_TOPICS_BY_CONSUMER,
        RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,
        RequestCode.GET_TOPIC_CONFIG,
        RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
        RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS,
        RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.RECALL_MESSAGE,
        RequestCode.QUERY_ASSIGNMENT,
        RequestCode.SET_MESSAGE_REQUEST_MODE,
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
        RequestCode.EXCHANGE_BROKER_HA_INFO,
        RequestCode.GET_BROKER_HA_STATUS,
        RequestCode.RESET_MASTER_FLUSH_OFFSET,
        RequestCode.GET_BROKER_EPOCH_CACHE,
        RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
        RequestCode.GET_COLD_DATA_FLOW_CTR_INFO,
        RequestCode.SET_COMMITLOG_READ_MODE,
        *USERS,
        RequestCode.SWITCH_TIMER_ENGINE,
        RequestCode.POP_MESSAGE,
        RequestCode.ACK_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
        RequestCode.POP_ROLLBACK,
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.LITE_SUBSCRIPTION_CTL,
        RequestCode.ACK_LITE_MESSAGE,
        RequestCode.GET_BROKER_LITE_INFO,
        RequestCode.GET_PARENT_TOPIC_INFO,
        RequestCode.GET_LITE_TOPIC_INFO,
        RequestCode.GET_LITE_CLIENT_INFO,
        RequestCode.GET_LITE_GROUP_INFO,
        RequestCode.TRIGGER_LITE_DISPATCH,
        RequestCode.BATCH_ACK_MESSAGE,
    ),
    _TO_CLIENTS: (
        RequestCode.CHECK_TRANSACTION_STATE,
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
        RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER,
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
        RequestCode.NOTIFY_UNSUBSCRIBE_LITE,
    ),
    _TO_BROKERS: (
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
        RequestCode.NOTIFY_BROKER_ROLE_CHANGED,
    ),
    _OF_CONTROLLERS: (
        RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET,
        RequestCode.CONTROLLER_ELECT_MASTER,
        RequestCode.CONTROLLER_REGISTER_BROKER,
        RequestCode.CONTROLLER_GET_REPLICA_INFO,
        RequestCode.CONTROLLER_GET_METADATA_INFO,
        RequestCode.CONTROLLER_GET_SYNC_STATE_DATA,
        RequestCode.UPDATE_CONTROLLER_CONFIG,
        RequestCode.GET_CONTROLLER_CONFIG,
        RequestCode.CLEAN_BROKER_DATA,
        RequestCode.CONTROLLER_GET_NEXT_BROKER_ID,
        RequestCode.CONTROLLER_APPLY_BROKER_ID,
    ),
    _OF_CONTAINERS: (RequestCode.ADD_BROKER, RequestCode.REMOVE_BROKER),
    _OF_RAFT: (
        RequestCode.BROKER_CLOSE_CHANNEL_REQUEST,
        RequestCode.CHECK_NOT_ACTIVE_BROKER_REQUEST,
        RequestCode.GET_BROKER_LIVE_INFO_REQUEST,
        RequestCode.GET_SYNC_STATE_DATA_REQUEST,
        RequestCode.RAFT_BROKER_HEART_BEAT_EVENT_REQUEST,
    ),
    _OF_THE_PAST: (RequestCode.REGISTER_FILTER_SERVER, RequestCode.REGISTER_MESSAGE_FILTER_CLASS),
}

UNSUPPORTED: dict[int, str] = {code: reason for reason, codes in _BY_REASON.items() for code in codes}


def limits_of_bodies(codes: Iterable[int], remoting: RemotingOptions) -> dict[int, BodyLimit]:
    """Return the body limit of each request; registrations are limited while they are read."""
    return body_limits(codes, remoting, {RequestCode.REGISTER_BROKER: None})


class NameServerService(RemotingService):
    """Name server on one port.

    `settings` are all options of the process as properties (requests 318 and 319), including TLS towards
    notified brokers. `hooks` observe every request. `users` are those of a broker of this process; without
    them, a name server with authentication keeps its own beside `kvConfigPath`. Route requests that arrive
    before `until` fires are answered then. `more` are requests that its process serves besides. Raises
    `ConfigError`.
    """

    def __init__(
        self,
        settings: OptionSet,
        runtime: Runtime,
        *,
        hooks: Sequence[Hook] = (),
        users: AccessTables | None = None,
        until: Deferred[None] | None = None,
        more: Mapping[int, RequestFunction] = MappingProxyType({}),
    ) -> None:
        super().__init__(runtime, settings.part(RemotingOptions), settings.part(TlsOptions))
        self._options = options = settings.part(NamesrvOptions)
        self._until = until
        self.port = 0
        """Port in use, after the start."""
        with self._closed_on_failure():
            self._access = ServerAccess(
                options,
                OF_NAME_SERVER,
                disk=runtime.disk,
                folder=tables_folder(options),
                clock=runtime.clock,
                worker=self._worker,
                pause=self._schedule.pause,
                shared=users,
            )
            self._on_close(self._access.close)
            self.namesrv = NameServer(
                options,
                settings=settings,
                clock=runtime.clock,
                disk=runtime.disk,
                send_notices=self._send_notices,
                soon=self._soon,
                worker=self._worker,
                access=self._access.administration,
            )
            self._on_close(self.namesrv.kv.close)
        self._client = self._make_client(self._access.sign)
        about_routes = {code: self._once_complete(function) for code, function in ABOUT_ROUTES.items()}
        served = REQUESTS | about_routes | dict(more)
        table = self._access.requests(served)
        self.dispatcher = Dispatcher(
            self.namesrv,
            table,
            UNSUPPORTED,
            clock=runtime.clock,
            hooks=[*hooks, *self._access.hooks],
            limits=limits_of_bodies(table, self._remoting),
        )
        self._server = self._make_server(self.dispatcher)

    @property
    def entries(self) -> int:
        """Number of pairs of topic and broker."""
        return self.namesrv.tables.pairs

    @property
    def users(self) -> AccessTables | None:
        """Users and policies, if there are any, to be shared with other servers of the process."""
        return self._access.tables

    def _begin(self) -> None:
        """Listen on `bindAddress` and `listenPort` (0: any), and start the timers."""
        host = self._server.listen(self._remoting.bind_address, self._remoting.listen_port).getHost()
        self.port = host.port
        for seconds, work in (
            (self._options.scan_not_active_broker_interval / 1000, self._scan),
            (SAVE_INTERVAL, self._save),
            (KV_PRINT_INTERVAL, self.namesrv.kv.log_all),
        ):
            self._schedule.every(seconds, seconds, work)
        log.info("the name server listens on %s", format_address(*host_and_port(host)))

    def _once_complete(self, function: RequestFunction) -> RequestFunction:
        """Wrap a function so that it waits for the brokers that start with this name server."""

        def answer(namesrv: NameServer, call: Call) -> Reply | Deferred[Reply]:
            until = self._until
            if until is None or until.called:
                return function(namesrv, call)
            waiting: Deferred[None] = Deferred()
            until.addBoth(lambda _: waiting.callback(None))
            return waiting.addCallback(lambda _: function(namesrv, call))

        return answer

    def _save(self) -> None:
        self.namesrv.kv.retry()
        self._access.retry()

    def _soon(self, work: Callable[[], None]) -> None:
        self._schedule.later(0, work)

    def _scan(self) -> None:
        for peer in self.namesrv.drop_expired():
            cast(Peer, peer).close("its broker was not heard of in time")

    def _send_notices(self, notices: Sequence[MinBrokerIdNotice]) -> None:
        for notice in notices:
            log.info("%s", notice)
            for receiver in notice.receivers:
                self._client.send_oneway(receiver, _notice_command(notice))


def _notice_command(notice: MinBrokerIdNotice) -> RemotingCommand:
    """Return request 905 of a notice. RocketMQ: `RouteInfoManager.notifyMinBrokerIdChanged`."""
    header = NotifyMinBrokerIdChangeRequestHeader(
        min_broker_id=notice.min_broker_id,
        broker_name=notice.broker_name,
        min_broker_addr=notice.min_broker_address,
        offline_broker_addr=notice.offline_broker_address,
        ha_broker_addr=notice.ha_broker_address,
    )
    return RemotingCommand.request(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, header)
