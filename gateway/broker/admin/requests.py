"""All requests of administration, by subject.

Few clients send them, so the functions of a subject are loaded with the first one.
"""

from mqgateway.gateway.broker.needs import Needs, RequestDeclaration, on_first_use
from mqgateway.gateway.codec.codes import RequestCode

SUBJECTS: dict[str, dict[int, Needs]] = {
    "topic_requests": {
        RequestCode.UPDATE_AND_CREATE_TOPIC: Needs.NOT_FENCED,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: Needs.NOT_FENCED,
        RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC: Needs.NOT_FENCED,
        RequestCode.DELETE_TOPIC_IN_BROKER: Needs.NOT_FENCED,
        RequestCode.GET_TOPIC_CONFIG: Needs.NOTHING,
        RequestCode.GET_TOPIC_STATS_INFO: Needs.NOTHING,
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: Needs.NOTHING,
        RequestCode.QUERY_CONSUME_TIME_SPAN: Needs.NOTHING,
        RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: Needs.NOTHING,
    },
    "group_requests": {
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: Needs.NOT_FENCED,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: Needs.NOT_FENCED,
        RequestCode.DELETE_SUBSCRIPTIONGROUP: Needs.NOT_FENCED,
        RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: Needs.NOTHING,
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: Needs.NOT_FENCED,
    },
    "table_requests": {
        RequestCode.GET_ALL_TOPIC_CONFIG: Needs.NOTHING,
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Needs.NOTHING,
        RequestCode.GET_ALL_DELAY_OFFSET: Needs.NOTHING,
    },
    "consumer_requests": {
        RequestCode.GET_CONSUMER_CONNECTION_LIST: Needs.NOTHING,
        RequestCode.GET_PRODUCER_CONNECTION_LIST: Needs.NOTHING,
        RequestCode.GET_ALL_PRODUCER_INFO: Needs.NOTHING,
        RequestCode.QUERY_TOPICS_BY_CONSUMER: Needs.NOTHING,
        RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: Needs.NOTHING,
        RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: Needs.NOTHING,
        RequestCode.GET_CONSUMER_RUNNING_INFO: Needs.NOTHING,
        RequestCode.CONSUME_MESSAGE_DIRECTLY: Needs.NOTHING,
    },
    "progress_requests": {
        RequestCode.GET_CONSUME_STATS: Needs.NOTHING,
        RequestCode.GET_BROKER_CONSUME_STATS: Needs.NOTHING,
        RequestCode.QUERY_CORRECTION_OFFSET: Needs.NOTHING,
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: Needs.NOT_FENCED,
    },
    "lite_requests": {
        RequestCode.GET_BROKER_LITE_INFO: Needs.NOTHING,
        RequestCode.GET_PARENT_TOPIC_INFO: Needs.NOTHING,
        RequestCode.GET_LITE_TOPIC_INFO: Needs.NOTHING,
        RequestCode.GET_LITE_CLIENT_INFO: Needs.NOTHING,
        RequestCode.GET_LITE_GROUP_INFO: Needs.NOTHING,
        RequestCode.TRIGGER_LITE_DISPATCH: Needs.NOTHING,
    },
    "broker_requests": {
        RequestCode.UPDATE_BROKER_CONFIG: Needs.NOTHING,
        RequestCode.GET_BROKER_CONFIG: Needs.NOTHING,
        RequestCode.GET_BROKER_RUNTIME_INFO: Needs.NOTHING,
        RequestCode.VIEW_BROKER_STATS_DATA: Needs.NOTHING,
        RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: Needs.NOTHING,
        RequestCode.CLEAN_UNUSED_TOPIC: Needs.NOTHING,
        RequestCode.DELETE_EXPIRED_COMMITLOG: Needs.NOTHING,
    },
    "cold_data_requests": {
        RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: Needs.NOTHING,
        RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: Needs.NOTHING,
        RequestCode.GET_COLD_DATA_FLOW_CTR_INFO: Needs.NOTHING,
        RequestCode.SET_COMMITLOG_READ_MODE: Needs.NOTHING,
    },
    "inapplicable_requests": {
        RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS: Needs.NOTHING,
        RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON: Needs.NOTHING,
        RequestCode.GET_BROKER_EPOCH_CACHE: Needs.NOTHING,
    },
}
"""Modules with the functions of requests by code, and what each request needs."""

REQUESTS: dict[int, RequestDeclaration] = {
    code: request
    for module, needs in SUBJECTS.items()
    for code, request in on_first_use(f"{__package__}.{module}", needs).items()
}
