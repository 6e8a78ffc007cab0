from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.metrics.lag import GroupLag, StoreTimes, progress
from tests.support.gateway.metrics import ExportingBroker


def broker_with(*groups: str, messages: int = 3) -> ExportingBroker:
    host = ExportingBroker()
    host.add_topic("T", queues=2)
    host.broker.tables.groups.put(*[SubscriptionGroupConfig(group_name=group) for group in groups])
    for _ in range(messages):
        host.send("T")
        host.clock.advance(1000)
    return host


def lag(host: ExportingBroker, times: StoreTimes | None = None) -> list[GroupLag]:
    found = progress(host.broker, times or StoreTimes(), host.clock.millis())
    return [one.lag for one in found if one is not None and one.lag is not None]


def test_a_group_that_is_not_connected_is_shown() -> None:
    host = broker_with("G")
    host.broker.tables.offsets.commit("G", "T", 0, 1)
    assert lag(host) == [GroupLag(("G", "T", "false"), 2, 0, 2, 2000, 2000)]


def test_pulled_messages_are_in_flight() -> None:
    host = broker_with("G")
    host.broker.tables.offsets.commit("G", "T", 0, 1)
    host.broker.tables.offsets.commit_pull("G", "T", 0, 2, 0)
    assert lag(host) == [GroupLag(("G", "T", "false"), 2, 1, 1, 2000, 1000)]


def test_a_group_that_is_done_has_no_lag() -> None:
    host = broker_with("G")
    host.broker.tables.offsets.commit("G", "T", 0, 3)
    assert lag(host) == [GroupLag(("G", "T", "false"), 0, 0, 0, 0, 0)]


def test_first_messages_of_a_member_that_commits_nothing_count() -> None:
    host = broker_with("G")
    host.subscribe("G", "T")
    host.broker.tables.offsets.commit_pull("G", "T", 0, 3, 1)
    assert lag(host) == [GroupLag(("G", "T", "false"), 2, 2, 0, 2000, 0)]


def test_queues_without_a_position_do_not_count() -> None:
    host = broker_with("G")
    host.broker.tables.offsets.commit("G", "T", 1, 0)
    assert lag(host) == [GroupLag(("G", "T", "false"), 0, 0, 0, 0, 0)]


def test_deleted_topics_and_groups_are_not_shown() -> None:
    host = broker_with("G")
    host.broker.tables.offsets.commit("G", "T", 0, 0)
    host.broker.tables.offsets.commit("gone", "T", 0, 0)
    host.broker.tables.offsets.commit("G", "gone", 0, 0)
    assert [one.labels for one in lag(host)] == [("G", "T", "false")]
    host.broker.tables.topics.delete("T")
    assert lag(host) == []


def test_retries_of_pops_are_shown_with_their_topic_others_are_not() -> None:
    host = broker_with("G", messages=0)
    host.add_topic("%RETRY%G_T", queues=1)
    host.add_topic("%RETRY%G", queues=1)
    host.send("%RETRY%G_T")
    host.broker.tables.offsets.commit("G", "%RETRY%G_T", 0, 0)
    host.broker.tables.offsets.commit("G", "%RETRY%G", 0, 0)
    assert lag(host) == [GroupLag(("G", "T", "true"), 1, 0, 1, 0, 0)]


def test_popped_messages_are_in_flight_unless_they_are_in_order() -> None:
    host = broker_with("G", "ordered")
    host.broker.tables.groups.put(SubscriptionGroupConfig(group_name="ordered", consume_message_orderly=True))
    for group in ("G", "ordered"):
        host.broker.tables.offsets.commit(group, "T", 0, 2)
        host.broker.pop.log.in_flight.add(("T", group, 0), 2)
    assert [one[:4] for one in lag(host)] == [
        (("G", "T", "false"), 3, 2, 1),
        (("ordered", "T", "false"), 1, 0, 1),
    ]


def test_messages_that_left_the_log_have_no_age() -> None:
    host = broker_with("G", messages=0)
    host.broker.tables.offsets.commit("G", "T", 0, 0)
    assert lag(host)[0].latency == 0


def test_store_times_are_cached_while_each_scrape_needs_them() -> None:
    host = broker_with("G")
    times = StoreTimes()
    host.broker.tables.offsets.commit("G", "T", 0, 1)
    asked: list[int] = []
    store_time = host.broker.store.store_time

    def counted(topic: str, queue_id: int, offset: int, may_wait: bool = True) -> int:
        asked.append(offset)
        return store_time(topic, queue_id, offset, may_wait)

    host.broker.store.store_time = counted  # type: ignore[method-assign]
    for _ in range(3):
        lag(host, times)
        times.end_scrape()
    assert asked == [1]  # one read for the consumed and the delivered offset, in the first scrape
    host.broker.tables.offsets.commit("G", "T", 0, 2)
    lag(host, times)
    times.end_scrape()
    assert asked[1:] == [2]
    assert set(times._known) == {("T", 0, 2)}
