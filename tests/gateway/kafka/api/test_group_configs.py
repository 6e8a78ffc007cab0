"""Settings of groups, as Kafka clients read and change them."""

from typing import Any

import pytest

from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages import alter_configs_request as replacing
from mqgateway.gateway.kafka.codec.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.gateway.kafka.api.test_share_groups import heartbeat
from tests.support.gateway.kafka.broker import KafkaBroker

GROUP = 32
SET, DELETE, APPEND = range(3)
INTERVAL = "share.heartbeat.interval.ms"


def described(kafka: KafkaBroker, group: str = "g") -> Any:
    """Describe the settings of a group."""
    resource = DescribeConfigsResource(GROUP, group, None)
    return kafka.ask(DescribeConfigsRequest([resource], include_synonyms=True)).results[0]


def own(kafka: KafkaBroker) -> dict[str, str]:
    """Return the settings that group g has itself."""
    return {config.name: config.value for config in described(kafka).configs if config.config_source == 8}


def changed(
    kafka: KafkaBroker, *changes: tuple[str, int, str | None], group: str = "g", checks: bool = False
) -> Any:
    """Change settings of a group one by one, or only check that."""
    resource = AlterConfigsResource(GROUP, group, [AlterableConfig(*change) for change in changes])
    return kafka.ask(IncrementalAlterConfigsRequest([resource], checks)).responses[0]


def test_group_has_all_settings_with_their_defaults() -> None:
    configs = {config.name: config for config in described(KafkaBroker()).configs}
    assert list(configs) == list(KAFKA_GROUP_CONFIGS)
    interval = configs[INTERVAL]
    assert (interval.value, interval.config_source, interval.config_type) == ("5000", 5, 3)
    assert (interval.read_only, interval.synonyms[0].name) == (False, "group.share.heartbeat.interval.ms")
    assert configs["share.auto.offset.reset"].synonyms[0].name == "share.auto.offset.reset"


def test_default_of_the_broker_comes_after_the_groups_own_value() -> None:
    kafka = KafkaBroker(options={"kafka_group_share_heartbeat_interval_millis": 7000})
    assert synonyms(kafka) == [
        ("group.share.heartbeat.interval.ms", "7000", 4),
        ("group.share.heartbeat.interval.ms", "5000", 5),
    ]
    changed(kafka, (INTERVAL, SET, "6000"))
    assert synonyms(kafka)[:2] == [(INTERVAL, "6000", 8), ("group.share.heartbeat.interval.ms", "7000", 4)]


def synonyms(kafka: KafkaBroker) -> list[tuple[str, str, int]]:
    """Return where the heartbeat interval of group g comes from; the first one is its value."""
    [config] = [config for config in described(kafka).configs if config.name == INTERVAL]
    found = [(one.name, one.value, one.source) for one in config.synonyms]
    assert (config.value, config.config_source) == found[0][1:]
    return found


def test_settings_are_set_deleted_and_replaced() -> None:
    kafka = KafkaBroker()
    assert changed(kafka, (INTERVAL, SET, "6000"), checks=True).error_code == E.NONE
    assert own(kafka) == {}
    assert changed(kafka, (INTERVAL, SET, "6000")).error_code == E.NONE
    assert changed(kafka, ("share.auto.offset.reset", SET, "earliest")).error_code == E.NONE
    assert own(kafka) == {INTERVAL: "6000", "share.auto.offset.reset": "earliest"}
    assert kafka.ask(heartbeat()).heartbeat_interval_ms == 6000
    assert changed(kafka, (INTERVAL, DELETE, None), ("share.isolation.level", DELETE, None)).error_code == 0
    assert own(kafka) == {"share.auto.offset.reset": "earliest"}
    resource = replacing.AlterConfigsResource(GROUP, "g", [replacing.AlterableConfig(INTERVAL, "7000")])
    assert kafka.ask(replacing.AlterConfigsRequest([resource])).responses[0].error_code == E.NONE
    assert own(kafka) == {INTERVAL: "7000"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("nothing", SET, "1"), "Unknown group config name: nothing"),
        ((INTERVAL, SET, "1"), f"{INTERVAL} must be in the range 5000 to 15000 inclusive."),
        ((INTERVAL, APPEND, "1"), f"Config value append is not allowed for config key: {INTERVAL}"),
    ],
)
def test_wrong_settings_are_refused(change: tuple[str, int, str], message: str) -> None:
    result = changed(KafkaBroker(), change)
    assert (result.error_code, result.error_message) == (E.INVALID_CONFIG, message)


@pytest.mark.parametrize("kind", ["consumer", "share"])
def test_session_timeout_must_be_greater_than_the_heartbeat_interval(kind: str) -> None:
    session, heartbeats = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    kafka = KafkaBroker(
        options={
            f"kafka_group_{kind}_heartbeat_interval_millis": 45_000,
            f"kafka_group_{kind}_session_timeout_millis": 60_000,
        }
    )
    result = changed(kafka, (session, SET, "45000"), checks=True)
    assert result.error_code == E.INVALID_CONFIG
    assert result.error_message == f"{session} must be greater than {heartbeats}."
    assert changed(kafka, (session, SET, "45000"), (heartbeats, SET, "5000")).error_code == E.NONE
    assert changed(kafka, (heartbeats, DELETE, None)).error_code == E.INVALID_CONFIG


def test_group_needs_a_name() -> None:
    kafka = KafkaBroker()
    assert described(kafka, "").error_message == "Group name must not be empty"
    assert changed(kafka, group="").error_message == "Default group resources are not allowed."


def test_rights_are_needed() -> None:
    kafka = KafkaBroker()
    kafka.rights.denied |= {("g", AclOperation.DESCRIBE_CONFIGS), ("g", AclOperation.ALTER_CONFIGS)}
    assert described(kafka).error_code == E.GROUP_AUTHORIZATION_FAILED
    assert changed(kafka, (INTERVAL, SET, "6000")).error_code == E.GROUP_AUTHORIZATION_FAILED
