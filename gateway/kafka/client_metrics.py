"""Checks of client-metrics resources, and their conditions (KIP-714). Kafka: `ClientMetricsConfigs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mqgateway.engine.tables.client_metrics import CLIENT_METRICS_CONFIGS, INTERVAL, MATCH
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.creation import CreationRejected
from mqgateway.gateway.kafka.pattern_syntax import PatternError
from mqgateway.gateway.kafka.patterns import NamePattern

ATTRIBUTES: Final = frozenset(
    (
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    )
)
"""Attributes of clients that conditions may name."""
ATTRIBUTE_MAX: Final = 256
"""Characters of an attribute that may meet a condition. It and the next limit bound the time of a match."""
STATES_MAX: Final = 200
"""States of the expression of a condition."""
INTERVAL_MIN: Final = 100
INTERVAL_MAX: Final = 3_600_000


def check_client_metrics(name: str, configs: Mapping[str, str]) -> None:
    """Check the settings of a resource. Raises `CreationRejected`."""
    if not name:
        raise CreationRejected(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for key, value in configs.items():
        config = CLIENT_METRICS_CONFIGS.get(key)
        if config is None:
            text = f"Unknown client metrics configuration: {key}"
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        problem = config.problem(value)
        if problem is not None:
            text = f"Invalid value {value} for configuration {key}: {problem}"
            raise CreationRejected(ErrorCode.INVALID_CONFIG, text)
    interval = configs.get(INTERVAL)
    if interval is not None and not INTERVAL_MIN <= int(interval) <= INTERVAL_MAX:
        text = f"Invalid value {interval} for {INTERVAL}, interval must be between 100 and 3600000 (1 hour)"
        raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
    conditions_of(configs.get(MATCH, ""))


def conditions_of(text: str) -> dict[str, NamePattern]:
    """Return the expressions by attribute; the last one of an attribute counts. Raises `CreationRejected`."""
    return dict(map(_condition, words_of(text)))


def words_of(text: str) -> Iterator[str]:
    """Yield the entries of a list without the spaces around them."""
    return filter(None, (word.strip() for word in text.split(",")))


def _condition(word: str) -> tuple[str, NamePattern]:
    attribute, _, expression = word.partition("=")
    attribute, expression = attribute.strip(), expression.strip()
    try:
        if attribute not in ATTRIBUTES or not expression or "=" in expression:
            raise PatternError("not an attribute and an expression")
        pattern = NamePattern(expression)
        if len(pattern) > STATES_MAX:
            raise PatternError("too long")
        return attribute, pattern
    except PatternError:
        text = f"Illegal client matching pattern: {word}"
        raise CreationRejected(ErrorCode.INVALID_CONFIG, text) from None
