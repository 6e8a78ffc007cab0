"""Records of groups of two kinds in one log."""

from __future__ import annotations

from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.records import CONSUMER_RECORDS
from mqgateway.gateway.kafka.consumer_groups.records import replay as replay_consumer_group
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.group_replay import replay_record
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.member import MemberTally
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.records import SHARE_RECORDS
from mqgateway.gateway.kafka.share_groups.records import replay as replay_share_group

GROUP = RecordKey(Kind.GROUP)


def replayed(groups: KafkaGroupTable, key: bytes, value: bytes | None) -> None:
    """Offer a record to both kinds, as the coordinator does."""
    replay_record(groups, CONSUMER_RECORDS, ModernGroup, replay_consumer_group, key, value)
    replay_record(groups, SHARE_RECORDS, ShareGroup, replay_share_group, key, value)


def record_of(epoch: int) -> bytes | None:
    group = ModernGroup("g", MemberTally())
    group.epoch = epoch
    return CONSUMER_RECORDS.value(group, GROUP)


def test_record_makes_a_group_of_its_kind_and_its_tombstone_removes_it() -> None:
    groups, key = KafkaGroupTable(GroupSettings()), CONSUMER_RECORDS.key("g", GROUP)
    replayed(groups, key, record_of(3))
    group = groups.get("g")
    assert isinstance(group, ModernGroup) and group.epoch == 3
    replayed(groups, key, None)
    assert groups.get("g") is None


def test_tombstone_of_another_kind_leaves_the_group() -> None:
    groups = KafkaGroupTable(GroupSettings())
    replayed(groups, CONSUMER_RECORDS.key("g", GROUP), record_of(3))
    replayed(groups, SHARE_RECORDS.key("g", GROUP), None)
    assert isinstance(groups.get("g"), ModernGroup)


def test_record_of_another_kind_takes_the_place_of_a_group() -> None:
    groups = KafkaGroupTable(GroupSettings())
    replayed(groups, CONSUMER_RECORDS.key("g", GROUP), record_of(3))
    share = ShareGroup("g", MemberTally())
    replayed(groups, SHARE_RECORDS.key("g", GROUP), SHARE_RECORDS.value(share, GROUP))
    assert isinstance(groups.get("g"), ShareGroup)
