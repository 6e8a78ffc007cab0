"""The client tables: members of groups, notifications of changes, and expiry of members."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.clock import ManualClock, elapsed_millis
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.clients.locks import ORPHAN_LIFE_MILLIS
from mqgateway.gateway.broker.clients.members import BROADCASTING, GroupClient
from mqgateway.gateway.broker.clients.table import ClientTable, TooManyClients
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from tests.support.gateway.broker.helpers import FakePeer


def data(
    group: str, *topics: str, version: int = 1, model: str = "CLUSTERING", expression: str = "*"
) -> ConsumerData:
    """Return the data in a consumer's heartbeat."""
    return ConsumerData(
        group_name=group,
        consume_type="CONSUME_PASSIVELY",
        message_model=model,
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        unit_mode=False,
        subscription_data_set=[
            SubscriptionData(topic=topic, sub_string=expression, sub_version=version) for topic in topics
        ],
    )


def client(peer: FakePeer, client_id: str = "") -> GroupClient:
    return GroupClient(peer, client_id or peer.address, "JAVA", CURRENT_VERSION)


class Tables:
    """A client table, its clock and a shorthand for registering."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.options = BrokerOptions()
        self.gone: list[str] = []
        self.disagreeing: list[str] = []
        self.calls: list[int] = []
        self.table = ClientTable(
            self.options,
            self.clock,
            on_group_gone=self.gone.append,
            on_disagreement=self.disagreeing.append,
            on_notice=lambda: self.calls.append(1),
        )

    def consumer(self, peer: FakePeer, data: ConsumerData, **how: object) -> bool:
        return self.table.register_consumer(data, client(peer), **how)  # type: ignore[arg-type]

    def notices(self) -> list[tuple[str, str]]:
        return [(client.peer.address, group) for client, group in self.table.take_notices()]


@pytest.fixture
def tables() -> Tables:
    return Tables()


def peers(count: int) -> list[FakePeer]:
    return [FakePeer(f"10.0.0.{number}:4000") for number in range(1, count + 1)]


def test_a_new_consumer_is_found_by_group_topic_and_id(tables: Tables) -> None:
    (peer,) = peers(1)
    tables.consumer(peer, data("g", "t"))
    group = tables.table.consumer_group("g")
    assert group is not None
    assert group.message_model == "CLUSTERING"
    found = tables.table.subscription("g", "t")
    assert found is not None and found.topic == "t"
    assert tables.table.subscription("g", "other") is None
    assert tables.table.subscription("other", "t") is None
    assert tables.table.subscription_count("g") == 1
    assert tables.table.subscription_count("other") == 0
    assert tables.table.consumer_ids("g") == [peer.address]
    assert tables.table.consumer_ids("other") == []
    member = tables.table.consumer("g", peer.address)
    assert member is not None and member.peer is peer
    assert tables.table.consumer("g", "somebody") is None
    assert tables.table.consumer("other", "somebody") is None
    assert tables.table.groups_subscribed_to("t") == {"g"}
    assert tables.table.groups_subscribed_to("other") == set()


def test_new_member_is_notified_once_to_every_member(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t"))
    tables.consumer(two, data("g", "t"))
    assert tables.notices() == [(one.address, "g"), (two.address, "g")]
    assert tables.notices() == []


def test_unchanged_heartbeat_notifies_no_client(tables: Tables) -> None:
    (peer,) = peers(1)
    tables.consumer(peer, data("g", "t"))
    tables.notices()
    tables.consumer(peer, data("g", "t"))
    assert tables.notices() == []


@pytest.mark.parametrize("topics", [("t", "u"), (), ("u",)])
def test_added_and_removed_topics_are_notified(tables: Tables, topics: tuple[str, ...]) -> None:
    (peer,) = peers(1)
    tables.consumer(peer, data("g", "t"))
    tables.notices()
    tables.consumer(peer, data("g", *topics))
    assert tables.notices() == [(peer.address, "g")]
    group = tables.table.consumer_group("g")
    assert group is not None and set(group.subscriptions) == set(topics)


def test_newer_expression_replaces_an_older_one_only(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t", version=5, expression="new"))
    tables.consumer(two, data("g", "t", version=4, expression="old"))
    found = tables.table.subscription("g", "t")
    assert found is not None and found.sub_string == "new"
    tables.consumer(two, data("g", "t", version=6, expression="newest"))
    found = tables.table.subscription("g", "t")
    assert found is not None and found.sub_string == "newest"


def test_first_change_requests_a_notification_round(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t"))
    tables.consumer(two, data("g", "t"))
    tables.consumer(two, data("h", "t"))
    assert tables.calls == [1]
    assert len(tables.notices()) == 3
    tables.table.unregister_consumer("g", one)
    assert tables.calls == [1, 1]


def test_succession_is_notified_to_all_clustering_groups(tables: Tables) -> None:
    one, two, three = peers(3)
    tables.consumer(one, data("g", "t"))
    tables.consumer(two, data("h", "t"))
    tables.consumer(three, data("b", "t", model=BROADCASTING))
    tables.notices()
    tables.calls.clear()
    tables.table.note_succession()
    assert tables.notices() == [(one.address, "g"), (two.address, "h")]
    assert tables.calls == [1]


def test_broadcasting_groups_are_not_notified(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t", model=BROADCASTING))
    tables.consumer(two, data("g", "t", model=BROADCASTING))
    tables.table.lost(one)
    assert tables.notices() == []


def test_group_can_disable_notifications(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t"), notify=False)
    tables.consumer(two, data("g", "t"), notify=False)
    tables.table.unregister_consumer("g", one)
    assert tables.notices() == []


def test_broker_can_disable_notifications(tables: Tables) -> None:
    (peer,) = peers(1)
    tables.options.notify_consumer_ids_changed_enable = False
    tables.consumer(peer, data("g", "t"))
    assert tables.notices() == []


def test_lost_channel_is_notified_to_other_members(tables: Tables) -> None:
    one, two = peers(2)
    for peer in (one, two):
        tables.consumer(peer, data("g", "t"))
    tables.notices()
    tables.table.lost(one)
    assert tables.notices() == [(two.address, "g")]
    assert tables.table.consumer_ids("g") == [two.address]


def test_group_is_removed_with_its_last_member(tables: Tables) -> None:
    peer, other = peers(2)
    for member in (peer, other):
        tables.consumer(member, data("g", "t"))
    tables.table.lost(other)
    assert tables.gone == []
    tables.notices()
    assert tables.table.unregister_consumer("g", peer)
    assert tables.gone == ["g"]
    assert tables.table.consumer_group("g") is None
    assert tables.notices() == []
    assert not tables.table.unregister_consumer("g", peer)


def test_lost_channel_leaves_all_its_groups(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t"))
    tables.consumer(one, data("h", "u"))
    tables.consumer(two, data("h", "u"))
    tables.table.register_producer("p", client(one))
    tables.table.register_producer("q", client(one))
    tables.table.register_producer("q", client(two))
    tables.table.lost(one)
    assert set(tables.table.consumer_groups) == {"h"}
    assert set(tables.table.producer_groups) == {"q"}
    assert list(tables.table.producer_groups["q"]) == [two]
    tables.table.lost(one)


def test_channel_can_change_its_client_id(tables: Tables) -> None:
    (peer,) = peers(1)
    table = tables.table
    table.register_consumer(data("g", "t"), client(peer, "old"))
    table.register_consumer(data("g", "t"), client(peer, "new"))
    assert table.consumer_ids("g") == ["new"]


def test_silent_client_is_removed_and_closed(tables: Tables) -> None:
    one, two, three = peers(3)
    tables.consumer(one, data("g", "t"))
    tables.table.register_producer("p", client(three))
    tables.clock.advance(60_000)
    tables.consumer(two, data("g", "t"))
    tables.clock.advance(60_000)
    assert tables.table.expire() == []
    tables.clock.advance(1)
    tables.notices()
    assert set(tables.table.expire()) == {one, three}
    assert tables.table.consumer_ids("g") == [two.address]
    assert tables.notices() == [(two.address, "g")]
    assert tables.table.producer_groups == {}


def test_clock_changes_do_not_affect_expiry(tables: Tables) -> None:
    (peer,) = peers(1)
    tables.consumer(peer, data("g", "t"))
    tables.clock.set_wall(tables.clock.millis() + 3_600_000)
    assert tables.table.expire() == []
    tables.clock.set_wall(tables.clock.millis() - 2 * 3_600_000)
    tables.clock.advance(120_001)
    assert tables.table.expire() == [peer]


def test_heartbeat_postpones_expiry(tables: Tables) -> None:
    (peer,) = peers(1)
    for _ in range(3):
        tables.consumer(peer, data("g", "t"))
        tables.table.register_producer("p", client(peer))
        tables.clock.advance(100_000)
        assert tables.table.expire() == []


def test_a_producer_is_found_by_its_client_id(tables: Tables) -> None:
    """In whatever group, by its newest connection, under the name it has now."""
    one, two = peers(2)
    for group in ("p", "q"):
        tables.table.register_producer(group, client(one))
    name = one.address
    found = tables.table.producer(name)
    assert found is not None and found.peer is one
    tables.table.register_producer("p", GroupClient(two, name, "JAVA", 1))
    found = tables.table.producer(name)
    assert found is not None and found.peer is two
    tables.table.lost(two)
    tables.table.unregister_producer("p", one)
    found = tables.table.producer(name)
    assert found is not None and found.peer is one
    tables.table.register_producer("q", GroupClient(one, "renamed", "JAVA", 1))
    assert tables.table.producer(name) is None
    assert tables.table.producer("renamed") is not None
    tables.table.lost(one)
    assert tables.table.producer("renamed") is None


def test_unregistering_a_producer(tables: Tables) -> None:
    one, two = peers(2)
    for peer in (one, two):
        tables.table.register_producer("p", client(peer))
    assert tables.table.unregister_producer("p", one)
    assert not tables.table.unregister_producer("p", one)
    assert list(tables.table.producer_groups["p"]) == [two]
    assert tables.table.unregister_producer("p", two)
    assert tables.table.producer_groups == {}
    assert not tables.table.unregister_producer("p", two)


def test_omitted_subscriptions_keep_the_known_ones(tables: Tables) -> None:
    (peer,) = peers(1)
    assert not tables.consumer(peer, data("g", "t"), fingerprint=7)
    assert not tables.consumer(peer, data("g"), fingerprint=7, subscriptions_left_out=True)
    assert tables.table.subscription("g", "t") is not None


def test_changed_fingerprint_requests_a_full_heartbeat(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t"), fingerprint=7)
    assert tables.consumer(two, data("g"), fingerprint=8, subscriptions_left_out=True)


def test_omitted_unknown_subscriptions_request_a_full_heartbeat(tables: Tables) -> None:
    """A restarted broker has no subscriptions, whatever the client sent before."""
    (peer,) = peers(1)
    assert tables.consumer(peer, data("g"), fingerprint=7, subscriptions_left_out=True)


def test_members_that_disagree_are_reported_once(tables: Tables, caplog: pytest.LogCaptureFixture) -> None:
    """Also with repeated and changed heartbeats."""
    one, two, three = peers(3)
    caplog.set_level(logging.WARNING)
    tables.consumer(one, data("g", "t"))
    assert not caplog.records and not tables.table.inconsistent_groups
    for expression in ("a", "b", "b"):
        tables.consumer(two, data("g", "t", expression=expression))
        tables.clock.advance(60_000)
    tables.consumer(three, data("g", "t"))
    (record,) = caplog.records
    assert "inconsistent" in record.getMessage() and two.address in record.getMessage()
    assert tables.disagreeing == ["g"]
    assert tables.table.inconsistent_groups == {"g"}


@pytest.mark.parametrize("how", ["tells", "leaves", "is lost"])
def test_members_may_agree_again(tables: Tables, caplog: pytest.LogCaptureFixture, how: str) -> None:
    """A second disagreement is counted, and reported unless it follows at once."""
    one, two = peers(2)
    caplog.set_level(logging.WARNING)
    for wait, reports in ((0, 1), (1000, 1), (60_000, 2)):
        tables.clock.advance(wait)
        tables.consumer(one, data("g", "t"))
        tables.consumer(two, data("g", "t", expression="a"))
        assert tables.table.inconsistent_groups == {"g"}
        assert len(caplog.records) == reports
        if how == "tells":
            tables.consumer(two, data("g", "t"))
        elif how == "leaves":
            tables.table.unregister_consumer("g", two)
        else:
            tables.table.lost(two)
        assert not tables.table.inconsistent_groups
    assert tables.disagreeing == ["g"] * 3


def test_member_that_changes_its_id_keeps_its_subscription(tables: Tables) -> None:
    one, two = peers(2)
    tables.consumer(one, data("g", "t"))
    tables.consumer(two, data("g", "t", expression="a"))
    tables.table.register_consumer(data("g", "t", expression="a"), client(two, "new"))
    assert tables.table.inconsistent_groups == {"g"}
    tables.table.lost(two)
    assert not tables.table.inconsistent_groups


def test_lost_connection_shortens_locks(tables: Tables) -> None:
    """In each of its groups, but not in one that it has left cleanly."""
    queue, now = MessageQueue("t", "b", 0), elapsed_millis(tables.clock)
    (one,) = peers(1)
    for group in ("g", "h"):
        tables.table.register_consumer(data(group, "t"), client(one, "me"))
        tables.table.locks.lock(group, "me", [queue], now)
    tables.table.unregister_consumer("h", one)
    tables.table.lost(one)
    tables.table.lost(one)
    later = now + ORPHAN_LIFE_MILLIS + 1
    assert [tables.table.locks.any_live(group, later) for group in ("g", "h")] == [False, True]


def test_members_that_agree_are_not_reported(tables: Tables, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for peer in peers(3):
        tables.consumer(peer, data("g", "t", "u"))
    assert not caplog.records


def test_no_group_has_more_members_than_allowed(tables: Tables) -> None:
    one, two = peers(2)
    tables.options.max_clients_per_group = 1
    tables.consumer(one, data("g", "t"))
    tables.table.register_producer("p", client(one))
    with pytest.raises(TooManyClients, match="maxClientsPerGroup"):
        tables.consumer(two, data("g", "t"))
    with pytest.raises(TooManyClients, match="maxClientsPerGroup"):
        tables.table.register_producer("p", client(two))
    tables.consumer(one, data("g", "t"))


def test_no_more_groups_than_allowed_are_online(tables: Tables) -> None:
    (peer,) = peers(1)
    tables.options.max_groups_online = 2
    tables.consumer(peer, data("g", "t"))
    tables.table.register_producer("p", client(peer))
    with pytest.raises(TooManyClients, match="maxGroupsOnline"):
        tables.consumer(peer, data("h", "t"))
    with pytest.raises(TooManyClients, match="maxGroupsOnline"):
        tables.table.register_producer("q", client(peer))
    assert set(tables.table.consumer_groups) == {"g"} and set(tables.table.producer_groups) == {"p"}


def test_a_client_is_in_no_more_groups_than_allowed(tables: Tables) -> None:
    """However many heartbeats it tells of them in; a group that is refused leaves nothing behind."""
    one, two = peers(2)
    tables.options.max_groups_per_client = 2
    tables.consumer(one, data("g", "t"))
    tables.table.register_producer("p", client(one))
    with pytest.raises(TooManyClients, match="maxGroupsPerClient"):
        tables.consumer(one, data("h", "t"))
    with pytest.raises(TooManyClients, match="maxGroupsPerClient"):
        tables.table.register_producer("q", client(one))
    assert set(tables.table.consumer_groups) == {"g"} and set(tables.table.producer_groups) == {"p"}
    tables.consumer(one, data("g", "t"))
    tables.consumer(two, data("h", "t"))
    tables.table.unregister_producer("p", one)
    tables.table.register_producer("q", client(one))


def disagreeing(table: ClientTable) -> set[str]:
    """Return the groups with members of different subscriptions, counted again."""
    return {
        name
        for name, group in table.consumer_groups.items()
        if len({one.subscribed for one in group.clients.values() if one.subscribed is not None}) > 1
    }


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["heartbeat", "unregister", "lost", "produce", "stop producing", "wait", "expire"]),
        st.integers(0, 3),
        st.sampled_from(["g", "h"]),
        st.sets(st.sampled_from(["t", "u"])),
    ),
    max_size=30,
)


@given(STEPS)
def test_tables_are_empty_without_clients(steps: list[tuple[str, int, str, set[str]]]) -> None:
    """Whatever happened: no empty group is kept, and when every channel is lost the tables are empty."""
    tables = Tables()
    table = tables.table
    members = peers(4)
    for step, number, group, topics in steps:
        peer = members[number]
        if step == "heartbeat":
            tables.consumer(peer, data(group, *topics))
        elif step == "unregister":
            table.unregister_consumer(group, peer)
        elif step == "lost":
            table.lost(peer)
        elif step == "produce":
            table.register_producer(group, client(peer))
        elif step == "stop producing":
            table.unregister_producer(group, peer)
        elif step == "wait":
            tables.clock.advance(70_000)
        else:
            table.expire()
        assert all(known.clients for known in table.consumer_groups.values())
        assert all(table.producer_groups.values())
        assert table.inconsistent_groups == disagreeing(table)
        assert {group for _, group in table.take_notices()} <= set(table.consumer_groups)
    for peer in members:
        table.lost(peer)
    assert table.consumer_groups == {} and table.producer_groups == {}
    assert not table.inconsistent_groups
    assert table.take_notices() == []
