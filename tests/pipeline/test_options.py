"""Options: the connector's names and defaults, and refusals that help."""

from __future__ import annotations

import pytest

from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.options import (
    SinkOptions,
    SourceOptions,
    StoreReadOptions,
    check_names,
    check_servers,
    names,
    of_servers,
    parse,
    parse_tls,
    required,
    table,
)


def test_the_stock_connectors_names_and_defaults() -> None:
    defaults = {name: default for name, default, _, _ in table(SourceOptions)}
    known = {
        "nameServer": "",
        "topic": "",
        "startingOffsets": "",
        "endingOffsets": "",
        "failOnDataLoss": "true",
        "subExpression": "*",
        "pullTimeoutMs": "120000",
        "pullBatchSize": "32",
        "maxOffsetsPerTrigger": "0",
        "fetchOffset.numRetries": "3",
        "fetchOffset.retryIntervalMs": "1000",
    }
    assert known.items() <= defaults.items()


def test_names_are_found_in_any_case() -> None:
    options = parse(SourceOptions, {"nameserver": "a:1", "FAILONDATALOSS": "false", "pullBatchSize": "8"})
    assert (options.name_server, options.fail_on_data_loss, options.pull_batch_size) == ("a:1", False, 8)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("pulltimeout", "3", r"is not an option; did you mean pullTimeoutMs\?"),
        ("group", "g", "use consumerGroup"),
        ("pullBatchSize", "many", "option pullBatchSize='many': not a whole number"),
        ("pullBatchSize", "0", "less than the minimum 1; use 1"),
        ("failOnDataLoss", "yes", "not true or false; use true"),
        ("zzz", "1", "valid options are accessKey, arrowBatchRows"),
    ],
)
def test_refusals_name_the_option_and_what_would_be_right(name: str, value: str, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        parse(SourceOptions, {name: value})


def test_options_added_by_spark_are_ignored() -> None:
    given = {"path": "/x", "checkpointlocation": "/y", "queryname": "q", "topic": "t"}
    assert parse(SinkOptions, given).topic == "t"
    with pytest.raises(BadOption, match="set the topic with"):
        parse(SinkOptions, given, spark_own=())


def test_tls_has_the_standards_names() -> None:
    given = {"tls.client.trustcertpath": "/ca.pem", "usetls": "true"}
    assert parse_tls(given).tls_client_trust_cert_path == "/ca.pem"
    assert parse(SourceOptions, given).use_tls
    with pytest.raises(BadOption, match=r"did you mean tls\.client\.trustCertPath\?"):
        parse_tls({"tls.client.trustcertpaht": "/ca.pem"})
    with pytest.raises(BadOption, match="is not an option"):
        parse(StoreReadOptions, given)


def test_required_option_must_be_set() -> None:
    with pytest.raises(BadOption, match="option nameServer='': is needed"):
        required(SourceOptions(), "name_server")
    required(SourceOptions(name_server="a:1"), "name_server")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nameServer": ""}, "option nameServer='': is needed"),
        ({"nameServer": "a:1; b"}, "'b' is not an address; write host:port"),
        ({"nameServer": "a:99999"}, "'a:99999' is not an address"),
        ({"accessKey": "k"}, "option secretKey='': is needed; accessKey and secretKey belong together"),
        ({"secretKey": "s"}, "option accessKey='': is needed"),
        ({"tls.client.authServer": "true"}, "option useTLS='false': tls.client.authServer is given as well"),
        ({"useTLS": "true", "tls.client.x": "1"}, "option tls.client.x='1': is not an option"),
        (
            {"useTLS": "true", "tls.client.authServer": "true"},
            "option tls.test.mode.enable='true': test mode does not verify servers; set it to false",
        ),
    ],
)
def test_servers_that_cannot_be_reached(given: dict[str, str], said: str) -> None:
    given = {"nameServer": "a:1", **given}
    with pytest.raises(BadOption, match=said):
        check_servers(parse(SourceOptions, given), given)


def test_servers_that_can() -> None:
    given = {
        "nameServer": "a:1;[::1]:2;",
        "accessKey": "k",
        "secretKey": "s",
        "useTLS": "true",
        "tls.client.trustCertPath": "/ca.pem",
    }
    tls = check_servers(parse(SinkOptions, given), given)
    assert tls.tls_client_trust_cert_path == "/ca.pem"


def test_server_options_are_shared_by_source_and_sink() -> None:
    servers = {"nameServer": "a:1", "ACCESSKEY": "k", "useTLS": "true", "tls.client.authServer": "true"}
    assert of_servers({**servers, "topic": "t", "pullBatchSize": "5"}) == servers
    parse(SinkOptions, servers)


def test_names_that_no_broker_takes() -> None:
    check_names("topic", "a,b", ["a", "b"])
    with pytest.raises(BadOption, match="option topic='a,b c': The specified topic: b c"):
        check_names("topic", "a,b c", ["a", "b c"])
    with pytest.raises(BadOption, match="The specified group is blank"):
        check_names("producerGroup", " ", [" "], is_group=True)


def test_the_limit_has_two_names() -> None:
    assert SourceOptions(max_messages_per_trigger=5).limit_per_trigger == 5
    assert SourceOptions(max_offsets_per_trigger=7).limit_per_trigger == 7
    assert SourceOptions().limit_per_trigger == 0


def test_lists_of_names() -> None:
    assert names(" a, b ,,a") == ["a", "b"]
