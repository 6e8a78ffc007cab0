"""Questions of administrators: there is one for every request that servers answer them."""

from __future__ import annotations

import pytest

from mqgateway.gateway.broker import requests as broker
from mqgateway.gateway.client import (
    admin_access,
    admin_broker,
    admin_consumers,
    admin_groups,
    admin_lite,
    admin_messages,
    admin_names,
    admin_replicas,
    admin_topics,
)
from mqgateway.gateway.client.admin_question import QUESTIONS, as_properties, json_of, settings_of, topics_of
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.namesrv import service as namesrv

MODULES = (
    admin_access,
    admin_broker,
    admin_consumers,
    admin_groups,
    admin_lite,
    admin_messages,
    admin_names,
    admin_replicas,
    admin_topics,
)
OF_PRODUCERS_AND_CONSUMERS = {
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE_V2,
    RequestCode.CONSUMER_SEND_MSG_BACK,
    RequestCode.RECALL_MESSAGE,
    RequestCode.END_TRANSACTION,
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.POP_MESSAGE,
    RequestCode.ACK_MESSAGE,
    RequestCode.BATCH_ACK_MESSAGE,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
    RequestCode.PEEK_MESSAGE,
    RequestCode.NOTIFICATION,
    RequestCode.POP_LITE_MESSAGE,
    RequestCode.LITE_SUBSCRIPTION_CTL,
    RequestCode.HEART_BEAT,
    RequestCode.UNREGISTER_CLIENT,
    RequestCode.CHECK_CLIENT_CONFIG,
    RequestCode.LOCK_BATCH_MQ,
    RequestCode.UNLOCK_BATCH_MQ,
    RequestCode.QUERY_ASSIGNMENT,
}
BETWEEN_SERVERS = {
    RequestCode.REGISTER_BROKER,
    RequestCode.UNREGISTER_BROKER,
    RequestCode.QUERY_DATA_VERSION,
    RequestCode.BROKER_HEARTBEAT,
    RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
    RequestCode.NOTIFY_BROKER_ROLE_CHANGED,
    RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET,
    RequestCode.CONTROLLER_REGISTER_BROKER,
    RequestCode.CONTROLLER_GET_NEXT_BROKER_ID,
    RequestCode.CONTROLLER_APPLY_BROKER_ID,
}


def test_every_request_that_is_served_can_be_asked() -> None:
    served = set(broker.REQUESTS) | set(namesrv.REQUESTS)
    missing = served - set(QUESTIONS) - OF_PRODUCERS_AND_CONSUMERS - BETWEEN_SERVERS
    assert not missing, sorted(RequestCode(code).name for code in missing)


def test_every_question_is_made_where_its_code_is_noted() -> None:
    made = {function for module in MODULES for function in vars(module).values() if callable(function)}
    assert len(QUESTIONS) > 90
    assert set(QUESTIONS.values()) <= made


def answer(body: bytes) -> RemotingCommand:
    return RemotingCommand.response(0, body=body)


def test_settings_survive_the_way_as_properties() -> None:
    settings = {"a": "1", "path": "C:\\x", "lines": "one\ntwo", "text": "grün = blau"}
    assert settings_of(answer(as_properties(settings))) == settings


def test_tables_are_read_with_the_keys_they_have() -> None:
    assert json_of(answer(b'{"offsetTable":{1:2}}')) == {"offsetTable": {1: 2}}
    assert json_of(answer(b"")) == {} and topics_of(answer(b"")) == set()


@pytest.mark.parametrize(
    ("read", "body"),
    [(json_of, b"{"), (topics_of, b"[]"), (settings_of, b"a=\\u12")],
    ids=["json", "body", "text"],
)
def test_an_answer_that_cannot_be_read_is_an_error_of_the_client(read: object, body: bytes) -> None:
    with pytest.raises(ClientError, match="cannot be read"):
        read(answer(body))  # type: ignore[operator]
