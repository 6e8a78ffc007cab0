"""Records of consumer and share groups that are read from the log when the coordinator starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.group_records import GroupRecords
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.share_groups.group import ShareGroup

G = TypeVar("G", ModernGroup, ShareGroup)


def replay_record(
    groups: KafkaGroupTable,
    records: GroupRecords[G],
    kind: type[G],
    replay: Callable[[G, RecordKey, bytes | None], None],
    record_key: bytes,
    value: bytes | None,
) -> None:
    """Take over a record if it is about a group of this `kind`; other records are ignored.

    A record of an unknown group, or of one of another kind, makes a group of this kind; its tombstone does
    not. The tombstone of a group removes it. `replay` applies any other record to its group. Raises
    `CodecError`.
    """
    place = records.read_key(record_key)
    if place is None:
        return
    group_id, key = place
    group = groups.get(group_id)
    if not isinstance(group, kind):
        if value is None:
            return
        group = kind(group_id, groups.tally)
        groups.put(group)
    if value is None and key.kind is Kind.GROUP:
        groups.discard(group_id)
    else:
        replay(group, key, value)
