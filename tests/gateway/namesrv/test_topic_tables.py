"""Tables of topics by broker, by themselves; registrations change them in `test_routes`."""

import pytest

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.namesrv.registration import RegistrationRefused
from mqgateway.gateway.namesrv.topic_tables import TopicTables
from tests.support.gateway.namesrv.brokers import mapping, queues


@pytest.fixture
def tables() -> TopicTables:
    """Tables with a topic on two brokers."""
    tables = TopicTables(NamesrvOptions())
    for broker in ("b1", "b2"):
        tables.put_queues("T", queues(broker))
    return tables


def test_pairs_of_topic_and_broker_are_counted(tables: TopicTables) -> None:
    tables.put_queues("T", queues("b1"))
    assert tables.pairs == 2
    tables.drop_queues("T", "b1")
    assert (tables.pairs, set(tables.topic_queues["T"])) == (1, {"b2"})
    tables.drop_queues("T", "b2")
    assert (tables.pairs, tables.topic_queues) == (0, {})


def test_mapping_goes_with_the_last_queues_of_its_topic(tables: TopicTables) -> None:
    tables.put_mapping("b1", "T", mapping("b1", "T"))
    tables.put_mapping("b1", "unknown", mapping("b1", "unknown"))
    tables.drop_queues("T", "b1")
    assert tables.mappings == {"T": {"b1": mapping("b1", "T")}}
    tables.drop_queues("T", "b2")
    assert tables.mappings == {}


def test_change_forgets_the_encoded_route_of_its_topic(tables: TopicTables) -> None:
    tables.put_queues("U", queues("b1"))
    tables.encoded = {("T", True): (b"", ()), ("T", False): (b"", ()), ("U", True): (b"", ())}
    tables.put_queues("T", queues("b1"))
    assert len(tables.encoded) == 3
    tables.put_queues("T", queues("b3"))
    assert set(tables.encoded) == {("U", True)}


def test_new_pairs_only_count_for_the_limit(tables: TopicTables) -> None:
    tables.options.max_queue_data = 2
    tables.check_topics({"T"}, ["b1", "b2"])
    with pytest.raises(RegistrationRefused, match="too many queues"):
        tables.check_topics({"T"}, ["b1", "b3"])
