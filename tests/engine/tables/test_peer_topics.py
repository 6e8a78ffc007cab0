"""Topics of other broker groups in their file."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.peer_topics import PeerTopic, PeerTopicTable, peer_key
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk


def test_table_is_read_back() -> None:
    disk = CrashDisk()
    table = PeerTopicTable(disk, "/peers.json", ManualClock())
    kept = PeerTopic("b", TopicConfig("t", 3, 4, attributes={"k": "v"}))
    table.put(kept, PeerTopic("c", TopicConfig("t")))
    assert table.delete(peer_key("c", "t"))
    again = PeerTopicTable(disk, "/peers.json", ManualClock())
    again.load()
    assert list(again.all()) == [kept] and again.get("b/t") == kept and again.get("b/u") is None


def test_entry_without_a_group_is_refused() -> None:
    with pytest.raises(ConfigError):
        PeerTopic.from_json({"config": {"topicName": "t"}})
