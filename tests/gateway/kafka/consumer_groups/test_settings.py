"""Settings of consumer groups."""

from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from tests.support.gateway.kafka.groups import Groups


def test_settings_of_the_group_are_used() -> None:
    groups = Groups()
    groups.consumer_settings = ConsumerGroupSettings(60_000, 15_000, 3000)
    assert groups.consumer_heartbeat("a").heartbeat_interval_ms == 15_000
    groups.pass_time(50_000, 1000)
    groups.consumer_heartbeat("a", 2)
    group = groups.consumers()
    groups.consumer_heartbeat("b")
    groups.consumer_heartbeat("c")
    groups.pass_time(2900)
    assert group.assignment_epoch == 3
    groups.pass_time(200)
    assert group.assignment_epoch == 4
