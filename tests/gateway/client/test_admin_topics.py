"""Questions to brokers about topics."""

from __future__ import annotations

import pytest

from mqgateway.engine.lenient_json import loads
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.command import RemotingCommand
from tests.gateway.client.test_push import Inbox, begin
from tests.support.gateway.client.administering import office
from tests.support.gateway.client.cluster import queue_of


def test_topics_are_made_changed_and_deleted() -> None:
    with office() as here:
        config = TopicConfig("New", 2, 2, attributes={"message.type": "FIFO"})
        here.ask(topics.update(config))
        assert here.ask(topics.config("New")) == config
        here.ask(topics.update(TopicConfig("New", 3, 3), without=["message.type"]))
        assert here.ask(topics.config("New")) == TopicConfig("New", 3, 3)
        delays = TopicConfig("X", attributes={"message.type": "DELAY"})
        here.ask(topics.update_many([delays, TopicConfig("Y")]))
        known = here.ask(topics.all_configs())
        assert {"New", "T", "X", "Y"} <= set(known)
        assert known["X"] == delays
        here.ask(topics.delete("New"))
        assert "New" not in here.ask(topics.all_configs())
        assert here.ask(topics.system_topics())


def test_reads_offsets_and_groups_of_topic() -> None:
    with office() as here:
        here.send(8)
        begin(here.cluster, Inbox())
        here.cluster.settle(15.0)
        table = here.ask(topics.stats("T")).offset_table
        assert [table[queue_of("T", number)].max_offset for number in range(4)] == [2] * 4
        assert here.ask(topics.groups("T")) == {"G"}
        spans = here.ask(topics.time_spans("T", "G"))
        assert len(spans) == 4 and all(0 < one.min_time_stamp <= one.max_time_stamp for one in spans)


def test_static_topic_is_sent_whole() -> None:
    question = topics.update_static(TopicConfig("S", 2, 2), {"topic": "S", "totalQueues": 2}, is_forced=True)
    assert question.header is not None and question.header.encode()["force"] == "true"
    assert loads(question.body) == {"topic": "S", "totalQueues": 2}


def test_invalid_configuration_is_a_client_error() -> None:
    with pytest.raises(ClientError, match="cannot be read"):
        topics.config("T").read(RemotingCommand.response(0, body=b'{"topicName":"T","perm":"six"}'))
