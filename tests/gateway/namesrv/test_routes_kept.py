"""Kept route answers and repeated registrations have the results of complete ones."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.namesrv.lookup import encoded_route, find_route
from mqgateway.gateway.namesrv.registration import (
    Leaving,
    Registration,
    RegistrationRefused,
    RegistrationResult,
)
from mqgateway.gateway.namesrv.routes import RouteTables
from tests.support.gateway.namesrv.brokers import (
    NOW,
    OTHER,
    SLAVE,
    key,
    mapping,
    queues,
    says,
    topic,
    version,
)


@pytest.fixture
def tables() -> RouteTables:
    return RouteTables(NamesrvOptions(notify_min_broker_id_changed=True))


def test_registration_without_change_keeps_encoded_routes(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    route = encoded_route(tables, "T1", quoted=True)
    tables.register(says(), NOW + 30_000)
    tables.register(says(data_version=version(2)), NOW + 60_000)
    assert encoded_route(tables, "T1", quoted=True) is route


def test_change_of_a_group_keeps_encoded_routes_of_others(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T8", "T9", name="b2", address=OTHER), NOW)
    mine, others = (encoded_route(tables, topic, quoted=True) for topic in ("T1", "T9"))
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert encoded_route(tables, "T9", quoted=True) is others
    assert encoded_route(tables, "T1", quoted=True) != mine
    tables.leave([Leaving(key(), "b1", 0), Leaving(key(SLAVE), "b1", 1)])
    assert encoded_route(tables, "T1", quoted=True) is None
    assert encoded_route(tables, "T9", quoted=True) is others


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables.register(says(topic("T1", queues=1), "T2", data_version=version(2)), NOW),
        lambda tables: tables.register(says(broker_id=1, address=SLAVE), NOW),
        lambda tables: tables.register(says(zone_name="z"), NOW),
        lambda tables: tables.register(says(filter_servers=["f"]), NOW),
        lambda tables: tables.register(
            says(data_version=version(2), mappings={"T1": mapping("b1", "T1")}), NOW
        ),
        lambda tables: tables.delete_topic("T1"),
        lambda tables: tables.put_topic("T1", [queues("b1", 3)]),
        lambda tables: tables.change_perms("b1", lambda p: 0),
        lambda tables: tables.leave([Leaving(key(), "b1", 0)]),
    ],
)
def test_change_of_a_route_is_shown_from_then_on(tables: RouteTables, change) -> None:  # type: ignore[no-untyped-def]
    tables.register(says(), NOW)
    before = [encoded_route(tables, "T1", quoted=quoted) for quoted in (True, False)]
    change(tables)
    after = [encoded_route(tables, "T1", quoted=quoted) for quoted in (True, False)]
    assert after == [fresh_route(tables, "T1", quoted=quoted) for quoted in (True, False)]
    assert before[0] != after[0] and before[1] != after[1]


def fresh_route(tables: RouteTables, name: str, *, quoted: bool) -> bytes | None:
    """Return the answer as it is made if none is kept."""
    route = find_route(tables, name)
    return None if route is None else route.encode_standard() if quoted else route.encode()


def copy_of(said: Registration) -> Registration:
    """Return a copy of a registration, with its fingerprint."""
    return replace(said, fingerprint=hash(repr(said)))


def test_the_same_words_are_only_a_sign_of_life(tables: RouteTables) -> None:
    said = copy_of(says())
    tables.register(said, NOW)
    assert said.fingerprint is not None
    assert tables.register_again(key(), 0, said.fingerprint, "peer", "", NOW + 5) == RegistrationResult()
    assert (tables.live[key()].last_update, tables.live[key()].peer) == (NOW + 5, "peer")
    assert tables.register_again(key(), 0, said.fingerprint + 1, "peer", "", NOW + 5) is None
    assert tables.register_again(key(OTHER), 0, said.fingerprint, "peer", "", NOW + 5) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables.delete_topic("T1"),
        lambda tables: tables.leave([Leaving(key(), "b1", 0)]),
        lambda tables: tables.register(says(broker_id=1, address=SLAVE), NOW),
        lambda tables: tables.register(says(address=OTHER), NOW),
        lambda tables: setattr(tables.options, "delete_topic_with_broker_registration", True),
    ],
)
def test_the_same_words_are_looked_at_after_a_change(
    tables: RouteTables, change: Callable[[RouteTables], object]
) -> None:
    said = copy_of(says())
    tables.register(said, NOW)
    change(tables)
    assert said.fingerprint is not None
    assert tables.register_again(key(), 0, said.fingerprint, None, "", NOW) is None


def test_the_same_words_stay_a_sign_of_life_whatever_happens_to_others(tables: RouteTables) -> None:
    said, other = copy_of(says()), says("T1", "T9", name="b2", address=OTHER)
    tables.register(said, NOW)
    assert said.fingerprint is not None
    for change in (
        lambda: tables.register(other, NOW),
        lambda: tables.delete_topic("T9"),
        lambda: tables.leave([Leaving(other.key, "b2", 0)]),
    ):
        change()
        assert tables.register_again(key(), 0, said.fingerprint, "peer", "", NOW) == RegistrationResult()


def test_the_same_words_of_a_group_that_was_gone_are_looked_at(tables: RouteTables) -> None:
    """As where an address that the group has given up is heard of again after all others have left."""
    said = copy_of(says())
    tables.register(said, NOW)
    tables.register(says(address=OTHER, data_version=version(2)), NOW)
    tables.leave([Leaving(key(OTHER), "b1", 0)])
    assert said.fingerprint is not None and key() in tables.live and "b1" not in tables.brokers
    assert tables.register_again(key(), 0, said.fingerprint, "peer", "", NOW) is None


@pytest.mark.parametrize(
    "lose_master",
    [
        lambda tables: tables.leave([Leaving(key(), "b1", 0)]),
        lambda tables: tables.register(says(broker_id=1), NOW),  # ignored, but it is no master any more
    ],
)
def test_the_same_words_of_a_slave_count_once_the_master_is_gone(
    tables: RouteTables, lose_master: Callable[[RouteTables], object]
) -> None:
    tables.register(says(), NOW)
    slave = copy_of(
        says("T8", "T9", broker_id=1, address=SLAVE, data_version=version(1, 2), enable_acting_master=True)
    )
    tables.register(slave, NOW)
    assert "T9" not in tables.topic_queues
    lose_master(tables)
    assert slave.fingerprint is not None
    assert tables.register_again(slave.key, 1, slave.fingerprint, None, "", NOW) is None
    tables.register(slave, NOW)
    assert "T9" in tables.topic_queues


BROKERS = [
    says(),
    says("T1", "T2", "T3", data_version=version(2)),
    says("T9", topic("T1", perm=4), data_version=version(3)),
    says(broker_id=1, address=SLAVE),
    says("T1", "T5", broker_id=1, address=SLAVE, enable_acting_master=True),
    says(broker_id=1, address=OTHER, data_version=version(1, state=2)),
    says(name="b2", address=OTHER, filter_servers=["f"]),
    says(name="b2", cluster="c2", address=OTHER, mappings={"T1": mapping("b2", "T1")}),
    says(address=SLAVE, zone_name="z"),
]
CHANGES: list[Callable[[RouteTables], object]] = [
    lambda tables: tables.delete_topic("T1"),
    lambda tables: tables.delete_topic("T2", "c1"),
    lambda tables: tables.put_topic("T7", [queues("b1")]),
    lambda tables: tables.change_perms("b1", lambda perm: perm & ~2),
    lambda tables: tables.leave([Leaving(key(), "b1", 0)]),
    lambda tables: tables.leave([Leaving(key(SLAVE), "b1", 1)]),
    lambda tables: tables.leave([Leaving(key(OTHER), "b2", 0)]),
]


@settings(max_examples=200, deadline=None)
@given(st.booleans(), st.lists(st.sampled_from([*BROKERS, *CHANGES]), max_size=8))
def test_kept_route_equals_a_new_one(
    acting: bool, steps: list[Registration | Callable[[RouteTables], object]]
) -> None:
    tables = RouteTables(NamesrvOptions(support_acting_master=acting))
    for step in steps:
        # What takes steps may be asked in between.
        going = tables.register_in_steps(step, NOW) if isinstance(step, Registration) else None
        while True:
            for name in ("T1", "T2", "T9"):
                assert encoded_route(tables, name, quoted=True) == fresh_route(tables, name, quoted=True)
            if going is None:
                break
            try:
                next(going)
            except (RegistrationRefused, StopIteration):
                going = None
        if not isinstance(step, Registration):
            step(tables)
    for name in ("T1", "T2", "T9"):
        assert encoded_route(tables, name, quoted=True) == fresh_route(tables, name, quoted=True)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from([*BROKERS, *CHANGES]) | st.sampled_from([*BROKERS[3:5], *CHANGES[4:6]]),
        max_size=12,
    )
)
def test_repeated_registration_equals_a_full_one(
    steps: list[Registration | Callable[[RouteTables], object]],
) -> None:
    quick, slow = RouteTables(NamesrvOptions()), RouteTables(NamesrvOptions())
    for now, step in enumerate(steps):
        answers: list[RegistrationResult | str] = []
        for tables in (quick, slow):
            if not isinstance(step, Registration):
                step(tables)
                continue
            said = copy_of(step)
            assert said.fingerprint is not None
            answer = None
            if tables is quick:
                answer = tables.register_again(said.key, said.broker_id, said.fingerprint, said.peer, "", now)
            try:
                answers.append(answer or tables.register(said, now))
            except RegistrationRefused as refused:
                answers.append(str(refused))
        assert len(set(map(repr, answers))) <= 1
        assert (quick.topic_queues, quick.brokers) == (slow.topic_queues, slow.brokers)
        assert (quick.clusters, quick.live, quick.mappings) == (slow.clusters, slow.live, slow.mappings)
        assert quick.filter_servers == slow.filter_servers
