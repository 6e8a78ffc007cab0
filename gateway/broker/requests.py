"""What the broker answers, code by code: `REQUESTS`; and what it does not and why: `UNSUPPORTED`.

Standard: `BrokerController.registerProcessor`.
"""

from __future__ import annotations

from mqgateway.gateway.broker.admin import broker as admin_broker
from mqgateway.gateway.broker.admin import cold_data as admin_cold
from mqgateway.gateway.broker.admin import consumers as admin_consumers
from mqgateway.gateway.broker.admin import groups as admin_groups
from mqgateway.gateway.broker.admin import lite as admin_lite
from mqgateway.gateway.broker.admin import progress as admin_progress
from mqgateway.gateway.broker.admin import static_topics as admin_static
from mqgateway.gateway.broker.admin import tables as admin_tables
from mqgateway.gateway.broker.admin import topics as admin_topics
from mqgateway.gateway.broker.clients import assignment, heartbeats, locks
from mqgateway.gateway.broker.consume import requests as consume_requests
from mqgateway.gateway.broker.lite import pop as pop_lite
from mqgateway.gateway.broker.lite import subscriptions as lite_subscriptions
from mqgateway.gateway.broker.pop import acks as pop_acks
from mqgateway.gateway.broker.pop import pop
from mqgateway.gateway.broker.pop import questions as pop_questions
from mqgateway.gateway.broker.produce import reply, send, send_back, timers
from mqgateway.gateway.broker.replication import requests as ha_requests
from mqgateway.gateway.broker.replication import status as ha_status
from mqgateway.gateway.broker.static_topics import requests as static_requests
from mqgateway.gateway.broker.static_topics.operations import OF_ANY_TOPIC
from mqgateway.gateway.broker.transactions import transactions
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.remoting.dispatch import LongRequestFunction, RequestFunction

SEND = static_requests.sending(send.send_message)

REQUESTS: dict[int, RequestFunction | LongRequestFunction] = {
    # Messages
    RequestCode.SEND_MESSAGE: SEND,
    RequestCode.SEND_MESSAGE_V2: SEND,
    RequestCode.SEND_BATCH_MESSAGE: SEND,
    RequestCode.SEND_REPLY_MESSAGE: reply.send_reply,
    RequestCode.SEND_REPLY_MESSAGE_V2: reply.send_reply,
    RequestCode.CONSUMER_SEND_MSG_BACK: send_back.send_back,
    RequestCode.RECALL_MESSAGE: timers.recall_message,
    RequestCode.END_TRANSACTION: transactions.end_transaction,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: transactions.resume_check,
    RequestCode.POP_MESSAGE: pop.pop_message,
    RequestCode.ACK_MESSAGE: pop_acks.ack_message,
    RequestCode.BATCH_ACK_MESSAGE: pop_acks.batch_ack_message,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: pop_acks.change_invisible_time,
    RequestCode.PEEK_MESSAGE: pop_questions.peek_message,
    RequestCode.NOTIFICATION: pop_questions.notification,
    RequestCode.POLLING_INFO: pop_questions.polling_info,
    RequestCode.POP_ROLLBACK: pop_questions.pop_rollback,
    RequestCode.POP_LITE_MESSAGE: pop_lite.pop_lite_message,
    RequestCode.LITE_SUBSCRIPTION_CTL: lite_subscriptions.control,
    # Pulls, offsets and queries
    **consume_requests.requests(OF_ANY_TOPIC),
    # Clients
    RequestCode.HEART_BEAT: heartbeats.heart_beat,
    RequestCode.UNREGISTER_CLIENT: heartbeats.unregister_client,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: heartbeats.consumer_list,
    RequestCode.CHECK_CLIENT_CONFIG: heartbeats.check_client_config,
    RequestCode.LOCK_BATCH_MQ: locks.lock_queues,
    RequestCode.UNLOCK_BATCH_MQ: locks.unlock_queues,
    RequestCode.QUERY_ASSIGNMENT: assignment.query_assignment,
    RequestCode.SET_MESSAGE_REQUEST_MODE: assignment.set_mode,
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: assignment.all_modes,
    # Administration: topics
    RequestCode.UPDATE_AND_CREATE_TOPIC: admin_topics.update_topic,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: admin_topics.update_topics,
    RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC: admin_static.update_static_topic,
    RequestCode.DELETE_TOPIC_IN_BROKER: admin_topics.delete_topic,
    RequestCode.GET_ALL_TOPIC_CONFIG: admin_tables.all_topics,
    RequestCode.GET_TOPIC_CONFIG: admin_topics.topic_config,
    RequestCode.GET_TOPIC_STATS_INFO: admin_topics.topic_stats,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: admin_topics.groups_of_topic,
    RequestCode.QUERY_CONSUME_TIME_SPAN: admin_topics.time_spans,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: admin_topics.system_topics,
    # Administration: groups
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: admin_groups.update_group,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: admin_groups.update_groups,
    RequestCode.DELETE_SUBSCRIPTIONGROUP: admin_groups.delete_group,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: admin_tables.all_groups,
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: admin_groups.group_config,
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: admin_groups.forbid,
    # Administration: clients and their progress
    RequestCode.GET_CONSUMER_CONNECTION_LIST: admin_consumers.consumer_connections,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: admin_consumers.producer_connections,
    RequestCode.GET_ALL_PRODUCER_INFO: admin_consumers.all_producers,
    RequestCode.QUERY_TOPICS_BY_CONSUMER: admin_consumers.topics_of_consumer,
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: admin_consumers.subscription_of_consumer,
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: admin_consumers.consumer_status,
    RequestCode.GET_CONSUMER_RUNNING_INFO: admin_consumers.consumer_running_info,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: admin_consumers.consume_directly,
    RequestCode.GET_CONSUME_STATS: admin_progress.consume_stats,
    RequestCode.GET_BROKER_CONSUME_STATS: admin_progress.all_consume_stats,
    RequestCode.QUERY_CORRECTION_OFFSET: admin_progress.correction_offset,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: admin_progress.reset_offset,
    # Administration: lite topics
    RequestCode.GET_BROKER_LITE_INFO: admin_lite.broker_info,
    RequestCode.GET_PARENT_TOPIC_INFO: admin_lite.parent_info,
    RequestCode.GET_LITE_TOPIC_INFO: admin_lite.topic_info,
    RequestCode.GET_LITE_CLIENT_INFO: admin_lite.client_info,
    RequestCode.GET_LITE_GROUP_INFO: admin_lite.group_info,
    RequestCode.TRIGGER_LITE_DISPATCH: admin_lite.trigger_dispatch,
    # Administration: the broker itself
    RequestCode.UPDATE_BROKER_CONFIG: admin_broker.update_config,
    RequestCode.GET_BROKER_CONFIG: admin_broker.get_config,
    RequestCode.GET_BROKER_RUNTIME_INFO: admin_broker.runtime_info,
    RequestCode.VIEW_BROKER_STATS_DATA: admin_broker.view_stats,
    RequestCode.GET_BROKER_HA_STATUS: ha_status.ha_status,
    RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE: ha_requests.min_id_changed,
    RequestCode.EXCHANGE_BROKER_HA_INFO: ha_requests.exchange_ha_info,
    RequestCode.RESET_MASTER_FLUSH_OFFSET: ha_requests.reset_master_flush_offset,
    RequestCode.GET_ALL_DELAY_OFFSET: admin_tables.delay_offsets,
    RequestCode.GET_TIMER_CHECK_POINT: timers.check_point,
    RequestCode.GET_TIMER_METRICS: timers.metrics,
    RequestCode.SWITCH_TIMER_ENGINE: timers.switch_engine,
    RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: admin_cold.set_thresholds,
    RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: admin_cold.remove_threshold,
    RequestCode.GET_COLD_DATA_FLOW_CTR_INFO: admin_cold.cold_data,
    RequestCode.SET_COMMITLOG_READ_MODE: admin_cold.set_read_mode,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: admin_broker.clean_queues,
    RequestCode.CLEAN_UNUSED_TOPIC: admin_broker.clean_unused_topics,
    RequestCode.DELETE_EXPIRED_COMMITLOG: admin_broker.delete_expired_log,
}

NOT_ON_FAST_PORT = frozenset(
    {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
    }
)
"""Served on the main port only, so that the fast one never waits. Standard: `registerProcessor`."""

_OF_NAME_SERVERS = "name servers answer this"
_TO_CLIENTS = "brokers send this to clients, nobody sends it to a broker"
_NO_ACCESS_CONTROL = "users and policies are not there yet"
_NO_CONTROLLER = "there is no controller"
_OF_CONTROLLERS = "controllers answer this"
_OF_CONTAINERS = "broker containers answer this"
_OF_RAFT = "an entry of the controllers' own log, no request"
_NO_ROCKSDB = "nothing is kept in RocksDB"
_RESERVED = "a number that nobody sends: lite topics are acknowledged with ACK_MESSAGE"
_OF_THE_PAST = "no broker of version 5 answers this"


def _called(prefix: str) -> tuple[RequestCode, ...]:
    return tuple(code for code in RequestCode if code.name.startswith(prefix))


_BY_REASON: dict[str, tuple[RequestCode, ...]] = {
    _OF_NAME_SERVERS: (
        RequestCode.PUT_KV_CONFIG,
        RequestCode.GET_KV_CONFIG,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.REGISTER_BROKER,
        RequestCode.UNREGISTER_BROKER,
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        RequestCode.DELETE_TOPIC_IN_NAMESRV,
        RequestCode.REGISTER_TOPIC_IN_NAMESRV,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_TOPICS_BY_CLUSTER,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        RequestCode.GET_UNIT_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
        RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        RequestCode.UPDATE_NAMESRV_CONFIG,
        RequestCode.GET_NAMESRV_CONFIG,
        RequestCode.QUERY_DATA_VERSION,
        RequestCode.GET_BROKER_MEMBER_GROUP,
        RequestCode.BROKER_HEARTBEAT,
    ),
    _TO_CLIENTS: (
        RequestCode.CHECK_TRANSACTION_STATE,
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
        RequestCode.GET_CLIENT_CONFIG,
        RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER,
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
        RequestCode.NOTIFY_UNSUBSCRIBE_LITE,
    ),
    _NO_ACCESS_CONTROL: _called("AUTH_"),
    _NO_CONTROLLER: (RequestCode.GET_BROKER_EPOCH_CACHE, RequestCode.NOTIFY_BROKER_ROLE_CHANGED),
    _OF_CONTROLLERS: (
        *_called("CONTROLLER_"),
        RequestCode.UPDATE_CONTROLLER_CONFIG,
        RequestCode.GET_CONTROLLER_CONFIG,
        RequestCode.CLEAN_BROKER_DATA,
    ),
    _OF_CONTAINERS: (RequestCode.ADD_BROKER, RequestCode.REMOVE_BROKER),
    _OF_RAFT: (
        RequestCode.BROKER_CLOSE_CHANNEL_REQUEST,
        RequestCode.CHECK_NOT_ACTIVE_BROKER_REQUEST,
        RequestCode.GET_BROKER_LIVE_INFO_REQUEST,
        RequestCode.GET_SYNC_STATE_DATA_REQUEST,
        RequestCode.RAFT_BROKER_HEART_BEAT_EVENT_REQUEST,
    ),
    _NO_ROCKSDB: (
        RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS,
        RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON,
    ),
    _OF_THE_PAST: (
        RequestCode.QUERY_BROKER_OFFSET,
        RequestCode.GET_TOPIC_CONFIG_LIST,
        RequestCode.GET_TOPIC_NAME_LIST,
        RequestCode.TRIGGER_DELETE_FILES,
        RequestCode.SUSPEND_CONSUMER,
        RequestCode.RESUME_CONSUMER,
        RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER,
        RequestCode.ADJUST_CONSUMER_THREAD_POOL,
        RequestCode.WHO_CONSUME_THE_MESSAGE,
        RequestCode.REGISTER_FILTER_SERVER,
        RequestCode.REGISTER_MESSAGE_FILTER_CLASS,
    ),
    _RESERVED: (RequestCode.ACK_LITE_MESSAGE,),
}

UNSUPPORTED: dict[int, str] = {code: reason for reason, codes in _BY_REASON.items() for code in codes}
"""Every other code of the protocol, and why a broker does not answer it."""
