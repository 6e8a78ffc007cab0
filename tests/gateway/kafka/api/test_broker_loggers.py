"""Levels of loggers, as administrators describe and change them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.gateway.kafka.api.test_configs import APPEND, DELETE, SET, changed, described
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene

RESOURCE = 8
NAME = "mqgateway.tests.loggers"
REFUSED, INVALID = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    """A logger of the product."""
    logger = logging.getLogger(NAME)
    yield logger
    logger.setLevel(logging.NOTSET)


def level_of(client: KafkaClient, name: str) -> str:
    """Return the level of a logger."""
    [config] = described(client, RESOURCE, "1", keys=[name]).configs
    assert (config.config_source, config.read_only, list(config.synonyms)) == (6, False, [])
    return str(config.value)


def test_loggers_of_the_product_and_the_root_are_described() -> None:
    with kafka_scene() as scene:
        names = [config.name for config in described(scene.client(), RESOURCE, "1").configs]
    assert {"root", NAME} <= set(names) and names == sorted(names)
    assert all(name == "root" or name.startswith("mqgateway") for name in names)


@pytest.mark.parametrize(
    "level, shown, number",
    [("FATAL", "FATAL", 50), ("WARN", "WARN", 30), ("DEBUG", "DEBUG", 10), ("TRACE", "DEBUG", 10)],
)
def test_level_is_set(logger: logging.Logger, level: str, shown: str, number: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        assert changed(client, RESOURCE, "1", (NAME, SET, level)).error_code == 0
        assert (level_of(client, NAME), logger.level) == (shown, number)


def test_without_its_level_a_logger_has_that_of_its_parent(logger: logging.Logger) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        logger.setLevel(1)
        assert level_of(client, NAME) == "TRACE"
        assert changed(client, RESOURCE, "1", (NAME, DELETE, None)).error_code == 0
        assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    "broker, change, code",
    [
        ("1", (NAME, SET, "LOUD"), INVALID),
        ("1", ("no.such", SET, "INFO"), INVALID),
        ("1", ("root", DELETE, None), REFUSED),
        ("1", (NAME, APPEND, "INFO"), REFUSED),
        ("2", (NAME, SET, "INFO"), REFUSED),
        ("", (NAME, SET, "INFO"), REFUSED),
    ],
)
def test_refused_change_changes_nothing(
    logger: logging.Logger, broker: str, change: tuple[str, int, str | None], code: ErrorCode
) -> None:
    with kafka_scene() as scene:
        result = changed(scene.client(), RESOURCE, broker, change)
        assert result.error_code == code and result.error_message
    assert logger.level == logging.NOTSET


def test_checked_change_is_not_made(logger: logging.Logger) -> None:
    resource = AlterConfigsResource(RESOURCE, "1", [AlterableConfig(NAME, SET, "DEBUG")])
    with kafka_scene() as scene:
        [result] = scene.client().ask(IncrementalAlterConfigsRequest([resource], True)).responses
    assert result.error_code == 0 and logger.level == logging.NOTSET


@pytest.mark.parametrize("broker", ["", "2", "one"])
def test_loggers_of_other_brokers_are_unknown(broker: str) -> None:
    with kafka_scene() as scene:
        assert described(scene.client(), RESOURCE, broker).error_code == REFUSED


def test_with_access_control_levels_are_neither_shown_nor_changed() -> None:
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        assert described(client, RESOURCE, "1").error_code == denied
        assert changed(client, RESOURCE, "1", (NAME, SET, "DEBUG")).error_code == denied
