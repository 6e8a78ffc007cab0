"""Settings: RocketMQ's names and defaults, checked."""

from __future__ import annotations

import pytest

from mqgateway.engine.options.option import options_of
from mqgateway.gateway.client.compression import Compression
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.options import (
    ClientOptions,
    ConsumeFrom,
    HeaderForm,
    LitePullOptions,
    ProducerOptions,
    PullOptions,
    PushOptions,
    made,
    name_servers_of,
    shown,
)

# Of the standard's classes, by property name.
DEFAULTS = {
    ProducerOptions: {
        "createTopicKey": "TBW102",
        "defaultTopicQueueNums": "4",
        "sendMsgTimeout": "3000",
        "compressMsgBodyOverHowmuch": "4096",
        "retryTimesWhenSendFailed": "2",
        "retryAnotherBrokerWhenNotStoreOK": "false",
        "maxMessageSize": "4194304",
        "pollNameServerInterval": "30000",
        "heartbeatBrokerInterval": "30000",
        "vipChannelEnabled": "false",
        "sendLatencyEnable": "false",
        "detectTimeout": "200",
        "enableTrace": "false",
    },
    PushOptions: {
        "consumeThreadMin": "20",
        "consumeConcurrentlyMaxSpan": "2000",
        "pullThresholdForQueue": "1000",
        "pullThresholdSizeForQueue": "100",
        "pullBatchSize": "32",
        "pullBatchSizeInBytes": "262144",
        "consumeMessageBatchMaxSize": "1",
        "maxReconsumeTimes": "-1",
        "suspendCurrentQueueTimeMillis": "1000",
        "consumeTimeout": "15",
        "persistConsumerOffsetInterval": "5000",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "brokerSuspendMaxTimeMillis": "15000",
        "popInvisibleTime": "60000",
    },
    PullOptions: {"brokerSuspendMaxTimeMillis": "20000", "consumerTimeoutMillisWhenSuspend": "30000"},
    LitePullOptions: {"autoCommit": "true", "pullBatchSize": "10", "pollTimeoutMillis": "5000"},
}


@pytest.mark.parametrize("kind", DEFAULTS, ids=lambda kind: kind.__name__)
def test_names_and_defaults_are_those_of_rocketmq(kind: type[ClientOptions]) -> None:
    assert DEFAULTS[kind].items() <= shown(kind()).items()


def test_every_setting_is_described() -> None:
    for kind in DEFAULTS:
        assert all(len(one.meaning) > 10 for one in options_of(kind))


@pytest.mark.parametrize(
    "wrong",
    [
        {"send_msg_timeout": 0},
        {"send_msg_timeout": "3000"},
        {"send_msg_timeout": True},
        {"no_such_thing": 1},
        {"compress_type": "GZIP"},
        {"compress_level": 99},
    ],
    ids=repr,
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadArgument):
        made(ProducerOptions, wrong)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("send_msg_timout", "send_msg_timeout"),
        ("sendMsgTimeout", "send_msg_timeout"),
        ("is_orderd", "is_ordered"),
        ("use_TLS", "use_tls"),
    ],
)
def test_misspelt_setting_gets_a_suggestion(wrong: str, meant: str) -> None:
    with pytest.raises(BadArgument, match=f"there is no setting {wrong}: did you mean {meant}\\?$"):
        made(ProducerOptions, {wrong: 1, "max_message_size": 1}, ["is_ordered"])
    with pytest.raises(BadArgument, match=r"no setting whatever$"):
        made(ProducerOptions, {"whatever": 1})


def test_choices_may_be_given_as_text() -> None:
    assert made(ProducerOptions, {"compress_type": "LZ4"}).compress_type is Compression.LZ4
    options = made(PushOptions, {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"})
    assert options.consume_from_where is ConsumeFrom.FIRST_OFFSET
    assert HeaderForm.ROCKETMQ.number == 1


def test_secrets_are_hidden() -> None:
    assert shown(ClientOptions(secret_key="x"))["secretKey"] == "******"


def test_name_servers_come_from_settings_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "e:1")
    assert name_servers_of(ClientOptions(namesrv_addr="a:1; b:2;")) == ["a:1", "b:2"]
    assert name_servers_of(ClientOptions()) == ["e:1"]
    monkeypatch.delenv("NAMESRV_ADDR")
    assert name_servers_of(ClientOptions()) == []
