"""Whole tables, and pages of them."""

import pytest

from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.gateway.broker.admin import tables
from tests.support.gateway.broker.admin import AdminBroker


@pytest.fixture
def memory() -> AdminBroker:
    memory = AdminBroker(options={"split_metadata_size": 3})
    for name in ("Tb", "Ta", "Tc"):
        memory.add_topic(name)
        assert memory.broker.tables.groups.find("G" + name) is not None
    return memory


def test_whole_table_is_returned(memory: AdminBroker) -> None:
    found = tables.all_topics(memory.broker)
    assert set(found.configs) == set(memory.broker.tables.topics.names())
    assert (found.total, found.version) == (len(found.configs), memory.broker.tables.topics.data_version)


@pytest.mark.parametrize(("start", "size", "taken"), [(0, None, 3), (0, 2, 2), (2, 9, 3), (-5, 1, 1)])
def test_page_size_is_the_smaller_limit(
    memory: AdminBroker, start: int, size: int | None, taken: int
) -> None:
    names = sorted(memory.broker.tables.groups.names())
    page = tables.TableRange(start, size, memory.broker.tables.groups.data_version)
    found = tables.all_groups(memory.broker, page)
    assert list(found.configs) == names[max(0, start) :][:taken]
    assert found.total == len(names)


@pytest.mark.parametrize("version", [None, DataVersion(counter=99)])
def test_a_page_of_another_version_starts_at_the_first_name(
    memory: AdminBroker, version: DataVersion | None
) -> None:
    found = tables.all_topics(memory.broker, tables.TableRange(2, None, version))
    assert list(found.configs) == sorted(memory.broker.tables.topics.names())[:3]


def test_groups_are_returned_with_forbidden_topics(memory: AdminBroker) -> None:
    memory.broker.tables.groups.forbid("GTa", "Ta", 2, True)
    assert tables.all_groups(memory.broker).forbidden == {"GTa": {"Ta": 4}}


def test_delay_offsets(memory: AdminBroker) -> None:
    assert tables.delay_offsets(memory.broker)["offsetTable"] == memory.broker.delays.offsets
