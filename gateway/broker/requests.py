"""Requests of the broker by code: `REQUESTS` are answered, `UNSUPPORTED` are refused with a reason.

`OF_ROOMS` combines the tables of all packages, with the role that each request requires; the table of all
roles is built from it.

RocketMQ: `BrokerController.registerProcessor`.
"""

from __future__ import annotations

from mqgateway.gateway.access.needs import USERS
from mqgateway.gateway.broker.admin import requests as admin_requests
from mqgateway.gateway.broker.clients import requests as client_requests
from mqgateway.gateway.broker.consume import requests as consume_requests
from mqgateway.gateway.broker.controlled import requests as controlled_requests
from mqgateway.gateway.broker.lite import requests as lite_requests
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration, on_first_use
from mqgateway.gateway.broker.pop import requests as pop_requests
from mqgateway.gateway.broker.produce import reply_requests
from mqgateway.gateway.broker.produce import requests as produce_requests
from mqgateway.gateway.broker.replication import requests as ha_requests
from mqgateway.gateway.broker.replication.role_requests import of_all_roles
from mqgateway.gateway.broker.transactions import requests as transaction_requests
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.codes import RequestCode

OF_ROOMS: dict[int, RequestDeclaration | Translated] = {
    # Messages
    **produce_requests.REQUESTS,
    **reply_requests.REQUESTS,
    **transaction_requests.REQUESTS,
    **pop_requests.REQUESTS,
    **lite_requests.REQUESTS,
    # Pulls, offsets and queries
    **consume_requests.REQUESTS,
    # Clients
    **client_requests.REQUESTS,
    # Administration
    **admin_requests.REQUESTS,
    # A slave copies its master's users, so each role answers.
    **on_first_use("mqgateway.gateway.access.requests", dict.fromkeys(USERS, Needs.NOTHING)),
    # Replication
    **ha_requests.REQUESTS,
    **controlled_requests.REQUESTS,
}

REQUESTS = of_all_roles(OF_ROOMS)

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
"""Codes served on the main port only, so that the fast port never waits. RocketMQ: `registerProcessor`."""

_OF_NAME_SERVERS = "name servers answer this"
_TO_CLIENTS = "brokers send this to clients, never the other way"
_OF_CONTROLLERS = "controllers answer this"
_OF_CONTAINERS = "broker containers answer this"
_OF_RAFT = "an entry of the controllers' own log, not a request"
_RESERVED = "a number that no client sends: lite topics are acknowledged with ACK_MESSAGE"
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
"""Every other code of the protocol, with the reason why a broker does not answer it."""
