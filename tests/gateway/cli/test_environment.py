"""Settings from environment variables and from Java's options."""

import pytest

from mqgateway.engine.options import (
    BrokerOptions,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsOptions,
)
from mqgateway.gateway.cli.environment import (
    from_environment,
    from_java_options,
    tls_file,
    unknown_variables,
    variable_of,
)


@pytest.fixture
def options() -> OptionSet:
    return OptionSet(BrokerOptions(), StoreOptions(), RemotingOptions(), TlsOptions())


def test_any_property_has_a_variable(options: OptionSet) -> None:
    environment = {
        "MQGATEWAY_FLUSH_DISK_TYPE": "SYNC_FLUSH",
        "MQGATEWAY_BROKER_IP1": "10.0.0.1",
        "HOME": "/h",
    }
    assert options.apply(from_environment(environment, options)) == []
    assert (options.get("flushDiskType"), options.get("brokerIP1")) == ("SYNC_FLUSH", "10.0.0.1")
    assert options.origin("flushDiskType") == "MQGATEWAY_FLUSH_DISK_TYPE"


def test_every_variable_sets_one_property(options: OptionSet) -> None:
    variables = [variable_of(name) for name in options.names()]
    assert len(variables) == len(set(variables))


def test_own_variable_wins_over_that_of_rocketmq_and_over_java_options(options: OptionSet) -> None:
    environment = {"JAVA_OPT": "-Drocketmq.namesrv.addr=java:1", "NAMESRV_ADDR": "standard:1"}
    options.apply(from_environment(environment, options))
    assert options.get("namesrvAddr") == "standard:1"
    options.apply(from_environment(environment | {"MQGATEWAY_NAMESRV_ADDR": "ours:1"}, options))
    assert options.get("namesrvAddr") == "ours:1"


def test_of_javas_options_only_properties_count() -> None:
    text = "-server -Xms8g -Drocketmq.home.dir='/opt/r q' -Dtls.server.mode=enforcing -Dempty -cp x=y"
    found = [(setting.key, setting.value) for setting in from_java_options(text, "JAVA_OPT")]
    assert found == [("rocketmqHome", "/opt/r q"), ("tls.server.mode", "enforcing")]


def test_a_quote_left_open_is_no_reason_to_stop() -> None:
    assert [s.value for s in from_java_options("-Da='b -Dc=d", "JAVA_OPT")] == ["'b", "d"]


def test_javas_other_properties_are_left_out(options: OptionSet) -> None:
    environment = {"JAVA_OPT_EXT": "-Duser.home=/data -Dtls.enable=true"}
    assert [s.key for s in from_environment(environment, options)] == ["tls.enable"]


def test_a_misspelt_variable_is_named(options: OptionSet) -> None:
    namesrv = OptionSet(NamesrvOptions())
    environment = {"MQGATEWAY_FLUSH_DISK_TIPE": "x", "MQGATEWAY_KV_CONFIG_PATH": "/kv", "HEAP_OPTS": "-Xmx1g"}
    (problem,) = unknown_variables(environment, [options, namesrv])
    assert problem.severity == "warning"
    assert problem.suggestion == "did you mean MQGATEWAY_FLUSH_DISK_TYPE?"


def test_tls_file_is_the_default_of_rocketmq_unless_named(options: OptionSet) -> None:
    assert tls_file([]) == ("/etc/rocketmq/tls.properties", False)
    environment = {"JAVA_OPT": "-Dtls.config.file=/t", "MQGATEWAY_TLS_CONFIG_FILE": "/u"}
    assert tls_file(from_environment(environment, options)) == ("/u", True)


def test_variable_of_the_number_of_brokers_is_no_property(options: OptionSet) -> None:
    environment = {"MQGATEWAY_BROKERS": "4"}
    assert unknown_variables(environment, [options]) == []
    assert from_environment(environment, options) == []
