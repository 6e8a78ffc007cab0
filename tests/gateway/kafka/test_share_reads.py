"""Reads for share groups: what follows the log, waits of many members, and committed records."""

from __future__ import annotations

from mqgateway.gateway.kafka.codec.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mqgateway.gateway.kafka.share_partitions.partition import ACCEPT
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.api.test_share_fetch import acquired, fill, only, share_fetch, share_scene
from tests.support.gateway.kafka.requests import end_transaction, in_transaction, values_in


def test_the_start_follows_the_log() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        for _ in range(3):
            fill(scene, client, 2)
        assert acquired(client.ask(share_fetch(topic_id, records=1))) == [(0, 1, 1)]
        partitions = [DeleteRecordsPartition(0, 5)]
        client.ask(DeleteRecordsRequest([DeleteRecordsTopic("a", partitions)], 1000))
        assert acquired(client.ask(share_fetch(topic_id, 1))) == []
        assert acquired(client.ask(share_fetch(topic_id, 2))) == [(5, 5, 1)]


def test_a_state_ahead_of_the_log_is_brought_back() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 2)
        scene.shares.table.begin(ShareKey("g", topic_id, 0), 9)
        assert acquired(client.ask(share_fetch(topic_id))) == []
        fill(scene, client, 1)
        assert acquired(client.ask(share_fetch(topic_id, 1))) == [(2, 2, 1)]


def test_each_record_goes_to_one_of_the_members_that_wait() -> None:
    with share_scene() as scene:
        clients = [scene.client() for _ in range(3)]
        topic_id = create(clients[0], "a")
        requests = [share_fetch(topic_id, member=f"m{number}", wait=2000) for number in range(3)]
        for client, request in zip(clients, requests, strict=True):
            client.write(client.frame(request))
        scene.settle(0.1)
        fill(scene, scene.client(), 2)
        scene.settle(3)
        answers = [
            client.decoded(request, client.frames(1)[0])
            for client, request in zip(clients, requests, strict=True)
        ]
        assert sorted(map(acquired, answers)) == [[], [], [(0, 1, 1)]]


def test_a_lost_connection_acquires_nothing() -> None:
    with share_scene() as scene:
        client, other = scene.client(), scene.client()
        topic_id = create(client, "a")
        client.write(client.frame(share_fetch(topic_id, member="x", wait=60_000)))
        scene.settle(0.1)
        client.transport.loseConnection()
        scene.settle(0.1)
        fill(scene, other, 1)
        assert acquired(other.ask(share_fetch(topic_id, member="y"))) == [(0, 0, 1)]


def test_only_as_many_records_are_in_flight_as_are_allowed() -> None:
    with share_scene(partition_max_record_locks=4) as scene:
        one, two = scene.client(), scene.client()
        topic_id = create(one, "a")
        for _ in range(3):
            fill(scene, one, 2)
        assert acquired(one.ask(share_fetch(topic_id, member="x"))) == [(0, 3, 1)]
        request = share_fetch(topic_id, member="y", wait=60_000)
        two.write(two.frame(request))
        assert two.frames(1, 1.0) == []
        one.ask(share_fetch(topic_id, 1, (0, 1, ACCEPT), member="x", records=0))
        [frame] = two.frames(1, 1.0)
        assert acquired(two.decoded(request, frame)) == [(4, 5, 1)]


def test_aborted_records_are_left_out_for_readers_of_committed_ones() -> None:
    with share_scene(is_read_committed=True) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        for producer_id, is_commit in ((7, False), (8, True)):
            in_transaction(scene, client, producer_id, b"v", transactional_id=f"t{producer_id}")
            end_transaction(scene, producer_id, is_commit=is_commit)
        fill(scene, client, 1)
        answer = client.ask(share_fetch(topic_id))
        assert acquired(answer) == [(1, 4, 1)]
        assert values_in(only(answer))
