"""Options: the connector's names and defaults, and refusals that help."""

from __future__ import annotations

import pytest

from pipeline.errors import BadOption
from pipeline.options import (
    SinkOptions,
    SourceOptions,
    StoreReadOptions,
    names,
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
        ("pulltimeout", "3", r"is no option; did you mean pullTimeoutMs\?"),
        ("group", "g", "use consumerGroup"),
        ("pullBatchSize", "many", "option pullBatchSize='many': not a whole number"),
        ("pullBatchSize", "0", "less than the least value 1; 1 would be right"),
        ("failOnDataLoss", "yes", "neither true nor false; true would be right"),
        ("zzz", "1", "known are accessKey, arrowBatchRows"),
    ],
)
def test_refusals_name_the_option_and_what_would_be_right(name: str, value: str, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        parse(SourceOptions, {name: value})


def test_what_spark_adds_is_passed_over() -> None:
    given = {"path": "/x", "checkpointlocation": "/y", "queryname": "q", "topic": "t"}
    assert parse(SinkOptions, given).topic == "t"
    with pytest.raises(BadOption, match="a topic is named"):
        parse(SinkOptions, given, spark_own=())


def test_tls_has_the_standards_names() -> None:
    given = {"tls.client.trustcertpath": "/ca.pem", "usetls": "true"}
    assert parse_tls(given).tls_client_trust_cert_path == "/ca.pem"
    assert parse(SourceOptions, given).use_tls
    with pytest.raises(BadOption, match=r"did you mean tls\.client\.trustCertPath\?"):
        parse_tls({"tls.client.trustcertpaht": "/ca.pem"})
    with pytest.raises(BadOption, match="is no option"):
        parse(StoreReadOptions, given)


def test_what_is_needed_must_be_there() -> None:
    with pytest.raises(BadOption, match="option nameServer='': is needed"):
        required(SourceOptions(), "name_server")
    required(SourceOptions(name_server="a:1"), "name_server")


def test_the_limit_has_two_names() -> None:
    assert SourceOptions(max_messages_per_trigger=5).limit_per_trigger == 5
    assert SourceOptions(max_offsets_per_trigger=7).limit_per_trigger == 7
    assert SourceOptions().limit_per_trigger == 0


def test_lists_of_names() -> None:
    assert names(" a, b ,,a") == ["a", "b"]
