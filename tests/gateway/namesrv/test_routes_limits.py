"""Limits of the tables, which a registration or a topic does not exceed."""

import pytest

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.namesrv.registration import RegistrationRefused
from mqgateway.gateway.namesrv.routes import RouteTables
from tests.support.gateway.namesrv.brokers import NOW, OTHER, key, mapping, queues, says, topic, version


@pytest.fixture
def options() -> NamesrvOptions:
    return NamesrvOptions(notify_min_broker_id_changed=True)


@pytest.fixture
def tables(options: NamesrvOptions) -> RouteTables:
    return RouteTables(options)


def test_the_number_of_brokers_is_limited(tables: RouteTables, options: NamesrvOptions) -> None:
    options.max_brokers = 1
    tables.register(says(), NOW)
    tables.register(says(data_version=version(2)), NOW)
    with pytest.raises(RegistrationRefused, match="too many brokers"):
        tables.register(says(name="b2", address=OTHER), NOW)
    assert set(tables.brokers) == {"b1"}


def test_one_address_cannot_fill_the_clusters(tables: RouteTables, options: NamesrvOptions) -> None:
    """A broker that registers under ever new cluster names is refused at some time."""
    options.max_brokers = 3
    refused = 0
    for number in range(10):
        try:
            tables.register(says(cluster=f"c{number}"), NOW)
        except RegistrationRefused:
            refused += 1
    assert refused == 7
    assert len(tables.clusters) == len(tables.live) == 3


def test_the_number_of_topics_is_limited(tables: RouteTables, options: NamesrvOptions) -> None:
    options.max_topics = 3
    tables.register(says("T1", "T2", "T3"), NOW)
    tables.register(says("T1", "T2", "T3", data_version=version(2)), NOW)
    with pytest.raises(RegistrationRefused, match="too many topics"):
        tables.register(says("T4", "T5", data_version=version(3)), NOW)
    with pytest.raises(RegistrationRefused, match="too many topics"):
        tables.put_topic("T4", [queues("b1")])
    assert set(tables.topic_queues) == {"T1", "T2", "T3"}
    assert tables.live[key()].data_version == version(2)


def test_the_number_of_queue_data_is_limited(tables: RouteTables, options: NamesrvOptions) -> None:
    options.max_queue_data = 3
    tables.register(says("T1", "T2"), NOW)
    with pytest.raises(RegistrationRefused, match="too many queues"):
        tables.register(says("T1", "T2", name="b2", address=OTHER), NOW)
    tables.delete_topic("T1")
    tables.register(says("T1", "T2", name="b2", address=OTHER), NOW)
    assert set(tables.brokers) == {"b1", "b2"}


def test_unreadable_part_refuses_the_whole_registration(tables: RouteTables) -> None:
    with pytest.raises(RegistrationRefused, match="topic T2 cannot be read"):
        tables.register(says("T1", topic("T2") | {"perm": "six"}), NOW)
    with pytest.raises(RegistrationRefused, match="epoch of TopicMapping"):
        tables.register(says(mappings={"T1": mapping("b1", "T1") | {"epoch": []}}), NOW)
    with pytest.raises(RegistrationRefused, match="1024 characters"):
        tables.register(says("T1", "n" * 1025), NOW)
    assert not tables.brokers and not tables.clusters and not tables.live and not tables.topic_queues


def test_the_queues_of_static_topics_are_limited(tables: RouteTables, options: NamesrvOptions) -> None:
    """A mapping counts one and one for each of its queues."""
    options.max_queue_data = 4
    one = {"T1": mapping("b1", "T1")}
    tables.register(says(mappings=one), NOW)
    large = {"T1": mapping("b1", "T1") | {"currIdMap": {0: 0, 1: 1}}}
    with pytest.raises(RegistrationRefused, match="static topics"):
        tables.register(says(data_version=version(2), mappings=large), NOW)
    tables.delete_topic("T1")
    tables.register(says(data_version=version(2), mappings=large), NOW)
    assert len(tables.mappings["T1"]["b1"]["currIdMap"]) == 2
