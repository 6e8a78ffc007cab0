"""Runs of a migration between two brokers in memory."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import OffsetFetchRequest
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.connection import KafkaError
from mqgateway.gateway.migration.kafka.group_settings import settings_of
from mqgateway.gateway.migration.kafka.groups import CommittedOffset, commit_offsets, committed_offsets
from mqgateway.gateway.migration.kafka.quotas import read_quotas, set_quotas
from mqgateway.gateway.migration.kafka.run import GROUPS_SECONDS, PAUSES
from mqgateway.gateway.migration.kafka.share_groups import ShareOffset, set_share_offsets, share_offsets
from mqgateway.gateway.migration.kafka.topics import add_partitions, read_topics
from mqgateway.gateway.migration.plan import MigrationError
from tests.support.gateway.kafka.requests import end_transaction, in_transaction
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_records_keep_their_offsets_in_an_empty_target() -> None:
    with kafka_clusters() as two:
        two.source.create("orders.v1", 2, retention_ms="86400000")
        two.source.produce("orders.v1", b"a", b"b")
        two.source.produce("orders.v1", b"c")
        two.source.produce("orders.v1", b"d", partition=1)
        plan = two.migrate()
        assert plan.problems == []
        assert plan.topics == [
            {"name": "orders.v1", "partitions": 2, "configs": {"retention.ms": "86400000"}}
        ]
        assert two.target.values("orders.v1") == [b"a", b"b", b"c"]
        assert two.target.values("orders.v1", 1) == [b"d"]
        assert [one.offsets.spans for one in two.progress.partitions.values()] == [[[0, 0, 3]], [[0, 0, 1]]]
        times = [batch.base_timestamp for batch in two.source.batches("orders.v1")]
        assert [batch.base_timestamp for batch in two.target.batches("orders.v1")] == times


def test_aborted_records_are_left_out_and_offsets_of_groups_follow() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        in_transaction(two.source.scene, two.source.client, 1000, b"x", b"y")
        end_transaction(two.source.scene, 1000, is_commit=False)
        in_transaction(two.source.scene, two.source.client, 1000, b"1", b"2", sequence=2)
        end_transaction(two.source.scene, 1000, is_commit=True)
        assert two.source.produce("a", b"3") == 6
        partition = Partition("a", 0)
        commit_offsets(two.source.cluster, "g", {partition: CommittedOffset(4, "note")})
        commit_offsets(two.source.cluster, "end", {partition: CommittedOffset(7, None)})
        two.migrate()
        assert two.target.values("a") == [b"1", b"2", b"3"]
        moved = committed_offsets(two.target.cluster, "g")
        assert moved == {partition: CommittedOffset(1, "note")}
        assert committed_offsets(two.target.cluster, "end")[partition].offset == 3


def test_interrupted_run_continues_without_repetition() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1", b"2", b"3")
        plan = two.plan()
        two.migration(plan).prepare()
        forgotten = two.progress.encode()
        two.migrate()
        two.progress = two.progress.decode(forgotten, "")
        two.progress.begin(Partition("a", 0), 0, 0)  # as it was before the first batch was stored
        two.source.produce("a", b"4")
        two.migrate()
        assert two.target.values("a") == [b"1", b"2", b"3", b"4"]
        assert two.progress.partitions[Partition("a", 0)].offsets.spans == [[0, 0, 4]]


def test_lost_connections_are_opened_again() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1")
        plan = two.plan()
        run = two.migration(plan)
        run.prepare()
        two.target.cluster.close()
        two.source.cluster.close()
        two.target.refusals, two.source.refusals = 2, 1
        run.follow(until_caught_up=True)
        assert two.target.values("a") == [b"1"]
        assert "waiting: cannot connect" in two.environment.lines[0]


def test_open_transaction_delays_the_end() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        in_transaction(two.source.scene, two.source.client, 1000, b"x")
        plan = two.plan()
        run = two.migration(plan)
        run.prepare()
        with pytest.raises(MigrationError, match="not committed"):
            run.finish()
        end_transaction(two.source.scene, 1000, is_commit=True)
        run = two.migration(plan)
        run.finish()
        assert two.target.values("a") == [b"x"] and two.progress.is_finished
        with pytest.raises(MigrationError, match="finished"):
            two.migration(plan).prepare()


def test_group_with_members_at_the_target_is_held() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.source.produce("a", b"1")
        commit_offsets(two.source.cluster, "g", {Partition("a", 0): CommittedOffset(1, None)})
        member = ConsumerGroupHeartbeatRequest(
            "g", "member", rebalance_timeout_ms=60_000, subscribed_topic_names=["a"], topic_partitions=[]
        )
        assert two.target.client.ask(member).error_code == 0
        with pytest.raises(MigrationError, match="it has members at the target"):
            two.migration(two.plan()).finish()
        assert not two.progress.is_finished


def test_settings_of_groups_are_set_before_records_are_copied() -> None:
    with kafka_clusters() as two:
        plan = two.plan()
        plan.group_settings = {"g": {"share.auto.offset.reset": "earliest"}, "s": {"streams.x": "1"}}
        two.migration(plan).prepare()
        assert settings_of(two.target.cluster, ["g", "s"]) == {"g": {"share.auto.offset.reset": "earliest"}}
        assert two.environment.lines == ["settings of group s: Unknown group config name: streams.x"]


def test_partitions_that_were_added_need_another_plan() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        plan = two.migrate()
        add_partitions(two.source.cluster, "a", 2)
        two.source.create("late")
        with pytest.raises(MigrationError, match="a has 2 partitions now"):
            two.migration(plan).finish()
        two.source.produce("a", b"1", partition=1)
        two.migrate()
        assert two.target.values("a", 1) == [b"1"]
        two.migration(plan := two.plan(["a"])).finish()
        assert len(plan.topics) == 1
        assert "left out: topics that the plan does not have: late" in two.environment.lines


def test_finish_sets_the_timestamp_type() -> None:
    with kafka_clusters() as two:
        two.source.create("a", message_timestamp_type="LogAppendTime")
        two.source.produce("a", b"1")
        [batch] = two.source.batches("a")
        plan = two.migrate()
        [copy] = two.target.batches("a")
        assert copy.base_timestamp == batch.max_timestamp and not copy.has_log_append_time
        assert read_topics(two.target.cluster)["a"].configs == {}
        two.migration(plan).finish()
        assert read_topics(two.target.cluster)["a"].configs == {"message.timestamp.type": "LogAppendTime"}


def test_refused_topic_ends_the_run() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        plan = two.plan()
        plan.topics[0]["configs"] = {"unknown": "1"}
        with pytest.raises(MigrationError, match="the target refuses a: Unknown topic config name: unknown"):
            two.migration(plan).prepare()


def test_run_that_is_killed_in_its_first_pass_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1")
        plan = two.plan()
        kept: list[bytes] = []
        monkeypatch.setattr(two.environment, "keep", lambda: kept.append(two.progress.encode()))
        run = two.migration(plan)
        run.prepare()
        run.follow(until_caught_up=True)
        two.progress = two.progress.decode(kept[0], "")
        assert two.position("a") == 0
        run = two.migration(plan)
        run.prepare()
        run.follow(until_caught_up=True)
        assert two.target.values("a") == [b"1"]


def test_offset_that_a_transaction_is_to_commit_delays_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1", b"2")
        partition = Partition("a", 0)
        commit_offsets(two.source.cluster, "g", {partition: CommittedOffset(1, None)})
        plan = two.plan()
        two.migration(plan).prepare()
        asked = two.source.cluster.ask_at

        def pending(address: str, request: Message) -> Any:
            answer = asked(address, request)
            if isinstance(request, OffsetFetchRequest):
                one = answer.groups[0].topics[0].partitions[0]
                one.error_code, one.committed_offset = ErrorCode.UNSTABLE_OFFSET_COMMIT, -1
            return answer

        with monkeypatch.context() as patched:
            patched.setattr(two.source.cluster, "ask_at", pending)
            with pytest.raises(MigrationError, match=r"not moved: g \(a transaction is about to commit"):
                two.migration(plan).finish()
        two.migration(plan).finish()
        assert committed_offsets(two.target.cluster, "g")[partition].offset == 1


def test_pauses_grow_while_a_pass_fails() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        plan = two.plan()
        run = two.migration(plan)
        run.prepare()
        failures = [KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "a-0")] * 3
        copy = run._copier.copy

        def failing() -> int:
            if failures:
                raise failures.pop()
            return copy()

        run._copier.copy = failing  # type: ignore[method-assign]
        run.follow(until_caught_up=True)
        assert two.environment.now == sum(PAUSES[:3])


def test_groups_are_read_at_intervals_while_there_is_nothing_to_copy() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        plan = two.plan()
        run = two.migration(plan)
        run.prepare()
        copy = run._copier.copy

        def passing() -> int:
            two.environment.now += 0.1
            if two.environment.now > 2 * GROUPS_SECONDS:
                raise KeyboardInterrupt
            return copy()

        run._copier.copy = passing  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            run.follow(until_caught_up=False)
        assert two.environment.kept == 3  # at the beginning, with the first pass, and after an interval


def test_records_of_others_after_the_copies_delay_the_end() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1")
        plan = two.migrate()
        two.target.produce("a", b"other")
        with pytest.raises(MigrationError, match="a-0 of the target has more records than the source"):
            two.migration(plan).finish()
        assert not two.progress.is_finished


def test_run_without_topics_waits_between_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    with kafka_clusters() as two:
        waited: list[float] = []

        def wait(seconds: float) -> None:
            waited.append(seconds)
            raise KeyboardInterrupt

        monkeypatch.setattr(two.environment, "wait", wait)
        run = two.migration(two.plan())
        run.prepare()
        with pytest.raises(KeyboardInterrupt):
            run.follow(until_caught_up=False)
        assert waited == [GROUPS_SECONDS]


def test_finish_moves_quotas_and_start_offsets_of_share_groups() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        in_transaction(two.source.scene, two.source.client, 1000, b"x", b"y")
        end_transaction(two.source.scene, 1000, is_commit=False)
        two.source.produce("a", b"1", b"2")
        partition = Partition("a", 0)
        set_share_offsets(two.source.cluster, "shared", {partition: 4})
        quotas = [{"entity": {"user": "alice"}, "values": {"producer_byte_rate": 1000.0}}]
        assert set_quotas(two.source.cluster, quotas) == []
        plan = two.plan()
        assert (plan.share_groups, plan.client_quotas, plan.problems) == (["shared"], quotas, [])
        run = two.migration(plan)
        run.prepare()
        run.follow(until_caught_up=True)
        assert read_quotas(two.target.cluster) == []
        run.finish()
        assert share_offsets(two.target.cluster, "shared") == {partition: ShareOffset(1, 1)}
        assert read_quotas(two.target.cluster) == quotas


def test_finish_is_refused_while_a_share_group_has_members_at_the_target() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1")
        set_share_offsets(two.source.cluster, "shared", {Partition("a", 0): 1})
        run = two.migration(two.plan())
        run.prepare()
        request = ShareGroupHeartbeatRequest("shared", "m", 0, subscribed_topic_names=("a",))
        assert two.target.client.ask(request).error_code == ErrorCode.NONE
        with pytest.raises(MigrationError, match="shared \\(it has members at the target\\)"):
            run.finish()
