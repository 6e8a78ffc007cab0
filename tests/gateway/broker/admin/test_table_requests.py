"""Requests of whole tables, and of their pages."""

from typing import Any

import pytest

from mqgateway.engine.lenient_json import dumps, loads
from mqgateway.gateway.codec.bodies.tables import FIGURES_FIELD, LAGS_FIELD
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    GetAllSubscriptionGroupRequestHeader,
    GetAllTopicConfigRequestHeader,
)
from tests.support.gateway.broker.admin import AdminBroker

TOPICS = RequestCode.GET_ALL_TOPIC_CONFIG
GROUPS = RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG


@pytest.fixture
def broker() -> AdminBroker:
    broker = AdminBroker(options={"split_metadata_size": 3})
    for name in ("Tb", "Ta", "Tc"):
        broker.add_topic(name)
        assert broker.broker.tables.groups.find("G" + name) is not None
    return broker


def names(broker: AdminBroker, code: int, header: Any = None) -> tuple[list[str], int, dict[str, int]]:
    """The names of an answer, how many there are in all, and the table's version."""
    answer = broker.ask(code, header)
    assert answer.code == 0, answer.remark
    body = loads(answer.arrived.body)
    key, total = (
        ("topicConfigTable", "totalTopicNum")
        if code == TOPICS
        else ("subscriptionGroupTable", "totalGroupNum")
    )
    return list(body[key]), int(answer.ext[total]), body["dataVersion"]


def test_request_without_fields_returns_the_whole_table(broker: AdminBroker) -> None:
    topics, total, version = names(broker, TOPICS)
    assert total == len(topics) == len(broker.broker.tables.topics)
    assert version == broker.broker.tables.topics.data_version.to_json()
    groups, total, _ = names(broker, GROUPS)
    assert total == len(groups) == len(broker.broker.tables.groups)


@pytest.mark.parametrize("code", [TOPICS, GROUPS])
def test_pages_put_together_are_the_table_in_order(broker: AdminBroker, code: RequestCode) -> None:
    table = broker.broker.tables.topics if code == TOPICS else broker.broker.tables.groups
    collected: list[str] = []
    version = ""
    for _ in range(20):
        if code == TOPICS:
            header: Any = GetAllTopicConfigRequestHeader(topic_seq=len(collected), data_version=version)
        else:
            header = GetAllSubscriptionGroupRequestHeader(group_seq=len(collected), data_version=version)
        page, total, found = names(broker, code, header)
        assert len(page) <= 3 and total == len(table)
        collected += page
        version = dumps(found).decode()
        if len(collected) >= total:
            break
    assert collected == sorted(table.names())


def test_a_page_of_another_version_starts_at_the_first_name(broker: AdminBroker) -> None:
    _, _, version = names(broker, TOPICS)
    text = dumps(version).decode()
    first = sorted(broker.broker.tables.topics.names())
    page, _, _ = names(broker, TOPICS, GetAllTopicConfigRequestHeader(topic_seq=2, data_version=text))
    assert page == first[2:5]
    broker.add_topic("Td")
    for stale in (text, None, "", "{oh", "[]"):
        header = GetAllTopicConfigRequestHeader(topic_seq=2, data_version=stale)
        assert names(broker, TOPICS, header)[0] == sorted(broker.broker.tables.topics.names())[:3]


def test_caller_can_request_smaller_pages(broker: AdminBroker) -> None:
    header = GetAllTopicConfigRequestHeader(topic_seq=0, max_topic_num=2)
    assert len(names(broker, TOPICS, header)[0]) == 2
    other = GetAllSubscriptionGroupRequestHeader(group_seq=0, max_group_num=1)
    assert len(names(broker, GROUPS, other)[0]) == 1


def test_pages_can_be_disabled(broker: AdminBroker) -> None:
    broker.options.enable_split_metadata = False
    header = GetAllTopicConfigRequestHeader(topic_seq=2, max_topic_num=1)
    assert len(names(broker, TOPICS, header)[0]) == len(broker.broker.tables.topics)


def test_page_without_a_start_begins_with_the_first_name(broker: AdminBroker) -> None:
    answer = broker.ask(TOPICS, ext={"maxTopicNum": "1"})
    assert (
        list(loads(answer.arrived.body)["topicConfigTable"])
        == sorted(broker.broker.tables.topics.names())[:1]
    )


@pytest.mark.parametrize("code", [TOPICS, GROUPS])
def test_signed_request_without_fields_of_a_page_returns_the_whole_table(
    broker: AdminBroker, code: RequestCode
) -> None:
    """A signature is made of fields too."""
    answer = broker.ask(code, ext={"AccessKey": "root", "Signature": "x", "SecurityToken": "t"})
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    table, names_of = (
        (broker.broker.tables.topics, "topicConfigTable")
        if code == TOPICS
        else (broker.broker.tables.groups, "subscriptionGroupTable")
    )
    assert set(loads(answer.arrived.body)[names_of]) == set(table.names())


def test_forbidden_topics_are_returned_with_their_groups(broker: AdminBroker) -> None:
    broker.broker.tables.groups.forbid("GTa", "Ta", 2, True)
    assert broker.json(GROUPS)["forbiddenTable"] == {"GTa": {"Ta": 4}}


def test_delay_offsets_are_the_content_of_the_file(broker: AdminBroker) -> None:
    found = broker.json(RequestCode.GET_ALL_DELAY_OFFSET)
    assert found == {"dataVersion": broker.broker.delays.data_version.to_json(), "offsetTable": {}}


def test_figures_of_topics_are_returned_on_request_only(broker: AdminBroker) -> None:
    broker.fill("Ta", 4)
    assert "topicFigures" not in loads(broker.ask(TOPICS).arrived.body)
    body = loads(broker.ask(TOPICS, ext={FIGURES_FIELD: "true"}).arrived.body)
    assert set(body["topicFigures"]) == set(body["topicConfigTable"])
    assert body["topicFigures"]["Ta"] == {"messages": 4, "putTps": broker.broker.stats.put_tps("Ta")}
    assert body["topicFigures"]["Tb"]["messages"] == 0


def test_lags_of_groups_are_returned_on_request_only(broker: AdminBroker) -> None:
    broker.fill("Ta", 4)
    broker.broker.tables.offsets.commit("GTa", "Ta", 0, 1)
    assert "groupLags" not in loads(broker.ask(GROUPS).arrived.body)
    body = loads(broker.ask(GROUPS, ext={LAGS_FIELD: "true"}).arrived.body)
    assert body["groupLags"] == {name: 3 if name == "GTa" else 0 for name in body["subscriptionGroupTable"]}
