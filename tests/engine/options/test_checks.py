"""Checks of settings that are text: what could be set and not work is refused, with a remedy."""

import pytest

from mqgateway.engine.options import BrokerOptions, OptionSet, Setting, StoreOptions
from mqgateway.engine.options.controller import ControllerOptions

SETTINGS = OptionSet(BrokerOptions(), StoreOptions(), ControllerOptions())


def problem(key: str, value: str) -> str:
    problems = SETTINGS.check([Setting(key, value, 3, "b.conf")])
    return str(problems[0]) if problems else ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("deleteWhen", "04"),
        ("deleteWhen", "4; 16;"),
        ("deleteWhen", "00;23"),
        ("namesrvAddr", ""),
        ("namesrvAddr", "a:9876; b_c:9876;"),
        ("namesrvAddr", "[::1]:9876"),
        ("namesrvAddr", "mq-ns.default.svc.cluster.local:9876"),
        ("brokerIP1", "10.0.0.1"),
        ("brokerIP1", ""),
        ("brokerName", ""),
        ("brokerIP1", "fe80::1%eth0"),
        ("brokerIP2", "my.host"),
        ("brokerName", "broker-a.1"),
        ("messageDelayLevel", "1s 5m 2h 1d"),
        ("storeType", "default"),
        ("haMasterAddress", "10.0.0.1:10912"),
        ("kafkaSaslMechanisms", "PLAIN"),
        ("kafkaClusterGroups", "broker-a, broker-b"),
        ("kafkaClusterGroups", ""),
        ("kafkaPrincipalMappingRules", "RULE:^CN=(.*?),.*$/$1/L, DEFAULT"),
    ],
)
def test_value_that_works_is_taken(key: str, value: str) -> None:
    assert problem(key, value) == ""


@pytest.mark.parametrize(
    ("key", "value", "remedy"),
    [
        ("deleteWhen", "25", "04"),
        ("deleteWhen", "", "04"),
        ("deleteWhen", "04:00", "04"),
        ("deleteWhen", ";", "04"),
        ("namesrvAddr", "http://x", "x:9876"),
        ("namesrvAddr", "http://x:9877/", "x:9877"),
        ("namesrvAddr", "a:1,b:2", "a:1;b:2"),
        ("namesrvAddr", "a:70000", "a:9876"),
        ("namesrvAddr", "10.0.0.1", "10.0.0.1:9876"),
        ("controllerAddr", "https://c", "c:9878"),
        ("haMasterAddress", "10.0.0.1", "10.0.0.1:10912"),
        ("grpcAdvertisedAddress", "mq.example.com", "mq.example.com:8081"),
        ("kafkaAdvertisedAddress", "mq.example.com", "mq.example.com:9092"),
        ("kafkaAdvertisedAddress", "clients", "clients:9092"),
        ("kafkaSaslMechanisms", "plain", "PLAIN"),
        ("kafkaPrincipalMappingRules", "CN", "DEFAULT"),
        ("kafkaSaslMechanisms", "GSSAPI", "PLAIN"),
        ("kafkaSaslMechanisms", "", "PLAIN"),
        ("kafkaClusterGroups", "a,b,a", "a,b"),
        ("kafkaClusterGroups", "a,,b", "a,b"),
        ("kafkaClusterGroups", "a/1", "a-1"),
        ("kafkaOauthbearerJwksUrl", "keys.json", "https://example.com/keys"),
        ("kafkaOauthbearerJwksUrl", "ftp://idp/keys", "https://example.com/keys"),
        ("kafkaOauthbearerJwksUrl", "https://", "https://example.com/keys"),
        ("brokerIP1", "10.0.0.1:10911", "10.0.0.1"),
        ("brokerIP1", "http://h", "h"),
        ("brokerName", "a b", "a-b"),
        ("brokerClusterName", "a/b", "a-b"),
        ("messageDelayLevel", "1s 5x", "1s 5s 10s"),
        ("messageDelayLevel", "", "1s 5s 10s"),
        ("storeType", "defualt", "default"),
        ("controllerType", "DLeger", "DLedger"),
    ],
)
def test_value_that_cannot_work_is_refused_with_its_place_and_a_remedy(
    key: str, value: str, remedy: str
) -> None:
    text = problem(key, value)
    assert text.startswith(f"b.conf:3: {key}={value}: ") and text.endswith(f"use {key}={remedy}")
