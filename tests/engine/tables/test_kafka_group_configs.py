"""Settings of groups by Kafka's names."""

import pytest

from mqgateway.engine.tables.attributes import GROUP_ATTRIBUTES, AttributeRefused, altered
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS


def test_defaults_are_allowed_values() -> None:
    assert list(KAFKA_GROUP_CONFIGS) == sorted(KAFKA_GROUP_CONFIGS)
    for name, row in KAFKA_GROUP_CONFIGS.items():
        assert (row.config.name, row.problem(row.config.default)) == (name, None)
        assert row.config.meaning.endswith(".")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        (
            "share.session.timeout.ms",
            "44999",
            "share.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
        ),
        (
            "share.session.timeout.ms",
            "0",
            "Invalid value 0 for configuration share.session.timeout.ms: Value must be at least 1",
        ),
        (
            "share.delivery.count.limit",
            "many",
            "Invalid value many for configuration share.delivery.count.limit: Not a number of type INT",
        ),
        (
            "share.isolation.level",
            "none",
            "Invalid value none for configuration share.isolation.level: String must be one of: "
            "read_committed, read_uncommitted",
        ),
        (
            "errors.deadletterqueue.topic.name",
            "__dead",
            "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
        ),
    ],
)
def test_values_that_are_not_allowed_have_a_problem(name: str, value: str, problem: str) -> None:
    assert KAFKA_GROUP_CONFIGS[name].problem(value) == problem


@pytest.mark.parametrize("value", ["earliest", "latest", "by_duration:P1D", "by_duration:PT1H30M0.5S"])
def test_start_may_be_named_or_a_duration(value: str) -> None:
    assert KAFKA_GROUP_CONFIGS["share.auto.offset.reset"].problem(value) is None


@pytest.mark.parametrize("value", ["none", "Earliest", "by_duration", "by_duration:P", ""])
def test_other_starts_have_a_problem(value: str) -> None:
    problem = KAFKA_GROUP_CONFIGS["share.auto.offset.reset"].problem(value)
    assert problem is not None and problem.endswith("format 'by_duration:<PnDTnHnMn.nS>'.")


def test_attributes_of_groups_have_the_settings() -> None:
    changes = {"+kafka.share.delivery.count.limit": "3"}
    assert altered(GROUP_ATTRIBUTES, {}, changes) == {"kafka.share.delivery.count.limit": "3"}
    with pytest.raises(AttributeRefused):
        altered(GROUP_ATTRIBUTES, {}, {"+kafka.share.delivery.count.limit": "1"})
