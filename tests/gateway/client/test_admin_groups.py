"""Questions to brokers about consumer groups."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.command import RemotingCommand
from tests.gateway.client.test_push import Inbox, begin
from tests.support.gateway.client.administering import office
from tests.support.gateway.client.cluster import queue_of


def test_groups_are_made_changed_and_deleted() -> None:
    with office() as here:
        here.ask(groups.update(SubscriptionGroupConfig("G", retry_max_times=3)))
        assert here.ask(groups.config("G")).retry_max_times == 3
        here.ask(groups.update_many([SubscriptionGroupConfig("X"), SubscriptionGroupConfig("Y")]))
        assert {"G", "X", "Y"} <= set(here.ask(groups.all_configs()))
        here.ask(groups.delete("G"))
        assert "G" not in here.ask(groups.all_configs())


def test_reading_is_forbidden_and_allowed() -> None:
    with office() as here:
        here.ask(groups.update(SubscriptionGroupConfig("G")))
        assert here.ask(groups.allow_reading("G", "T")) is True
        assert here.ask(groups.allow_reading("G", "T", False)) is False
        assert here.ask(groups.allow_reading("G", "T")) is False
        assert here.ask(groups.allow_reading("G", "T", True)) is True


def test_modes() -> None:
    with office() as here:
        here.ask(groups.set_mode("G", "T", "POP", 2))
        found = here.ask(groups.all_modes())["T"]["G"]
        assert (found.mode, found.pop_share_queue_num) == ("POP", 2)


def test_progress_and_subscriptions() -> None:
    with office() as here:
        here.send(8)
        inbox = Inbox()
        begin(here.cluster, inbox, wanted="a || b")
        here.cluster.settle(15.0)
        table = here.ask(groups.progress("G")).offset_table
        assert {queue.topic for queue in table} >= {"T"}
        one = here.ask(groups.progress("G", ["T"])).offset_table
        assert set(one) == {queue_of("T", number) for number in range(4)}
        assert {state.broker_offset for state in one.values()} == {2}
        both = here.ask(groups.progress("G", ["T", "%RETRY%G"])).offset_table
        assert set(both) >= set(one)
        everything = here.ask(groups.all_progress())
        assert any("G" in entry for entry in everything.consume_stats_list)
        assert "T" in here.ask(groups.topics("G"))
        wanted = here.ask(groups.subscription("G", "T"))
        assert wanted is not None and set(wanted.tags_set) == {"a", "b"}
        assert here.ask(groups.subscription("Unknown", "T")) is None


def test_offsets() -> None:
    with office() as here:
        here.send(8)
        queue = queue_of("T", 1)
        assert here.ask(groups.offset("H", queue)) in (-1, 0)
        here.ask(groups.update_many([SubscriptionGroupConfig("G"), SubscriptionGroupConfig("H")]))
        here.ask(groups.set_offset("G", queue, 2))
        assert here.ask(groups.offset("G", queue)) == 2
        assert here.ask(groups.all_offsets())["T@G"] == {1: 2}
        here.ask(groups.clone_offsets("G", "H", "T"))
        assert here.ask(groups.offset("H", queue)) == 2
        assert here.ask(groups.reset_offsets("G", "T", groups.EARLIEST, queue_id=1, offset=1)) is not None
        assert here.ask(groups.correction_offsets("T", "G")) is not None


def test_a_configuration_that_is_none_is_an_error_of_the_client() -> None:
    with pytest.raises(ClientError, match="cannot be read"):
        groups.config("G").read(RemotingCommand.response(0, body=b'{"groupName":"G","retryQueueNums":"six"}'))
