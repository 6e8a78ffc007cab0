"""Problems of a group, found before anything is changed."""

import pytest

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.migration.plan import Way
from mqgateway.gateway.migration.survey import SurveyedGroup, survey
from tests.support.gateway.migration.clusters import OLD, FakeCluster


def look(cluster: FakeCluster, way: Way = Way.REPLICATE) -> SurveyedGroup:
    return survey(cluster, "a", way)  # type: ignore[arg-type]


def codes(found: SurveyedGroup) -> dict[str, bool]:
    return {one.code: one.fatal for one in found.problems}


def test_plain_group_has_no_problems() -> None:
    found = look(FakeCluster())
    assert (found.master, found.new_id, found.only_here, found.problems) == (OLD, 1, [], [])


def test_topics_that_this_group_alone_has() -> None:
    cluster = FakeCluster()
    cluster.others = []
    assert look(cluster).only_here == ["T"]


@pytest.mark.parametrize(
    ("setting", "value", "fatal"),
    [
        ("enableDLegerCommitLog", "true", True),
        ("duplicationEnable", "true", True),
        ("popConsumerKVServiceEnable", "true", True),
        ("timerRocksDBEnable", "true", True),
        ("enableSlaveActingMaster", "true", False),
        ("enableLmq", "true", False),
        ("aclEnable", "true", False),
    ],
)
def test_unsupported_setting_is_a_problem(setting: str, value: str, fatal: bool) -> None:
    cluster = FakeCluster()
    cluster.old.settings[setting] = value
    assert list(codes(look(cluster)).values()) == [fatal]
    cluster.old.settings[setting] = "false"
    assert codes(look(cluster)) == {}


def test_files_of_rocksdb_are_not_opened_but_replicated() -> None:
    cluster = FakeCluster()
    cluster.old.settings["storeType"] = "defaultRocksDB"
    assert codes(look(cluster, Way.IN_PLACE)) == {"storeType": True}
    assert codes(look(cluster)) == {}


def test_a_controller_elects_unless_the_store_is_to_be_opened() -> None:
    cluster = FakeCluster()
    assert look(cluster).way is Way.REPLICATE
    cluster.old.settings["enableControllerMode"] = "true"
    assert (look(cluster).way, codes(look(cluster))) == (Way.ELECT, {})
    assert codes(look(cluster, Way.IN_PLACE)) == {"enableControllerMode": True}


def test_versions_and_slaves() -> None:
    cluster = FakeCluster()
    cluster.old.version = "V4_3_0"
    assert codes(look(cluster)) == {"version": False}
    cluster.old.version = "V4_9_7"
    cluster.members[2] = "10.0.0.8:10911"
    found = look(cluster)
    assert (codes(found), found.new_id) == ({"slaves": False}, 3)
    cluster.in_sync = False
    assert codes(look(cluster)) == {"slave-behind": True, "slaves": False}


def test_compaction_topics() -> None:
    cluster = FakeCluster()
    cluster.old.topics["T"] = TopicConfig("T", attributes={"cleanup.policy": "compaction"})
    assert codes(look(cluster)) == {"compaction": True}
    assert codes(look(cluster, Way.IN_PLACE)) == {}
