"""Levels of the broker's loggers in DescribeConfigs and IncrementalAlterConfigs.

Loggers are Python's. A change lasts until the process ends. Kafka: `RuntimeLoggerManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_configs_response import DescribeConfigsResourceResult
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import AlterableConfig
from mqgateway.gateway.kafka.creation import CreationRejected
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.rights import cluster_refusal, on_cluster

BROKER_LOGGER_RESOURCE: Final = 8
PACKAGE: Final = "mqgateway"
ROOT: Final = "root"
LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": logging.DEBUG,
    "WARN": logging.WARNING,
}
"""Levels by Kafka's names."""
_SOURCE, _UNKNOWN_TYPE = 6, 0
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_OPERATIONS: Final = {_APPEND: "APPEND", _SUBTRACT: "SUBTRACT"}


class BrokerLoggers:
    """The loggers of the process of one broker."""

    def __init__(self, operations: Operations, node: Node) -> None:
        self._operations = operations
        self._node = node

    def rows(self, call: KafkaCall, name: str) -> Iterator[DescribeConfigsResourceResult]:
        """Yield the level of each logger. Raises `CreationRejected`."""
        refusal = cluster_refusal(call, self._operations, AclOperation.DESCRIBE_CONFIGS)
        if refusal is not None:
            raise CreationRejected(*refusal)
        own = self._node.id
        if not name:
            raise CreationRejected(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        if not _is_number(name):
            text = f"Broker id must be an integer, but it is: {name}"
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        if int(name) != own:
            text = f"Unexpected broker id, expected {own} but received {name}"
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        for key, logger in sorted(_loggers().items()):
            level = _level_name(logger.getEffectiveLevel())
            yield DescribeConfigsResourceResult(key, level, False, _SOURCE, False, (), _UNKNOWN_TYPE, "")

    def change(
        self, call: KafkaCall, name: str, configs: Sequence[AlterableConfig], *, only_check: bool
    ) -> None:
        """Set levels, or remove them so that those of the parents count. Raises `CreationRejected`."""
        try:
            call.admit(Use.CONFIGURE, on_cluster(self._operations, AclOperation.ALTER_CONFIGS))
        except NotAdmitted as error:
            raise CreationRejected(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, str(error)) from None
        if not _is_number(name):
            text = f"Node id must be an integer, but it is: {name}"
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        if int(name) != self._node.id:
            text = f"Unexpected node id. Expected {self._node.id}, but received {name}"
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        loggers = _loggers()
        for config in configs:
            _check(config, loggers)
        if only_check:
            return
        for config in configs:
            is_set = config.config_operation == _SET
            loggers[config.name].setLevel(LEVELS[config.value or ""] if is_set else logging.NOTSET)


def _check(config: AlterableConfig, loggers: Mapping[str, logging.Logger]) -> None:
    key, operation, level = config.name, config.config_operation, config.value
    if operation not in (_SET, _DELETE):
        word = _OPERATIONS.get(operation, f"Unknown ({operation})")
        text = f"{word} operation is not allowed for the BROKER_LOGGER resource"
        raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
    if key not in loggers:
        raise CreationRejected(ErrorCode.INVALID_CONFIG, f"Logger {key} does not exist!")
    if operation == _SET and level not in LEVELS:
        text = (
            f"Cannot set the log level of {key} to {level} as it is not a supported log level. Valid log "
            f"levels are {', '.join(LEVELS)}"
        )
        raise CreationRejected(ErrorCode.INVALID_CONFIG, text)
    if operation == _DELETE and key == ROOT:
        text = "Removing the log level of the root logger is not allowed"
        raise CreationRejected(ErrorCode.INVALID_REQUEST, text)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal()


def _loggers() -> dict[str, logging.Logger]:
    """Return the root logger, and those of this product."""
    own = {
        name: logger
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and name.partition(".")[0] == PACKAGE
    }
    return {**own, ROOT: logging.root}


def _level_name(level: int) -> str:
    """Return Kafka's name of the highest level that is not above a level of Python's."""
    below = [(number, name) for name, number in LEVELS.items() if number <= level and name != "TRACE"]
    return max(below)[1] if below else "TRACE"
