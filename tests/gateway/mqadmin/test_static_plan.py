"""Placement of the queues of static topics, and refused plans."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.mqadmin.static_plan import (
    MOVED,
    BrokerShare,
    StaticTopicPlan,
    created,
    moved,
    round_up,
)

NOW = 1_700_000_000_000


def leaders(brokers: dict[str, BrokerShare]) -> dict[int, str]:
    """Return the leader of each queue."""
    found = {
        number: name
        for name, one in brokers.items()
        for number in one.mapping.queues
        if one.mapping.leads(number)
    }
    return dict(sorted(found.items()))


def settled(plan: StaticTopicPlan, end: int = 0) -> dict[str, BrokerShare]:
    """Settle every moving queue at the offset `end`, and return the brokers."""
    for broker in sorted(plan.out_of):
        for number, _, _ in list(plan.moving(broker)):
            plan.settle(number, broker, end)
    return plan.brokers


def test_a_new_topic_is_spread_evenly() -> None:
    plan = created("T", 5, ["b", "a"], {}, NOW)
    assert leaders(plan.brokers) == {0: "a", 1: "b", 2: "a", 3: "b", 4: "a"}
    assert plan.epoch == NOW
    assert {one.mapping.total_queues for one in plan.brokers.values()} == {5}
    assert plan.brokers["a"].config.write_queue_nums == 3
    assert plan.brokers["a"].mapping.queues[4] == [MappingItem(0, 2, "a", 0)]


def test_added_queues_balance_the_brokers() -> None:
    before = created("T", 2, ["a"], {}, NOW)
    plan = created("T", 5, ["b"], before.brokers, NOW)
    assert leaders(plan.brokers) == {0: "a", 1: "a", 2: "b", 3: "b", 4: "a"}
    assert plan.epoch == NOW + 1000, "later than the one before, whatever the clock says"
    assert leaders(before.brokers) == {0: "a", 1: "a"}, "what was there is not touched"


def test_queues_are_neither_lost_nor_made_twice() -> None:
    brokers = created("T", 2, ["a"], {}, NOW).brokers
    with pytest.raises(ClientError, match="cannot lose queues: T has 2, not 1"):
        created("T", 1, ["a"], brokers, NOW)
    with pytest.raises(ClientError, match="nothing to do"):
        created("T", 2, ["a"], brokers, NOW)


def test_minimum_of_queues_moves() -> None:
    before = created("T", 6, ["a"], {}, NOW).brokers
    plan = moved("T", ["a", "b", "c"], before, NOW)
    assert Counter(leaders(plan.brokers).values()) == {"a": 2, "b": 2, "c": 2}
    assert (plan.kind, plan.into, plan.out_of) == (MOVED, {"b", "c"}, {"a"})
    again = moved("T", ["a", "b", "c"], settled(plan), NOW)
    assert not again.into and leaders(again.brokers) == leaders(plan.brokers)
    one_more = moved("T", ["a", "b", "c", "d"], settled(plan), NOW)
    assert one_more.into == {"d"} and Counter(leaders(one_more.brokers).values()) == {
        "a": 2,
        "b": 2,
        "c": 1,
        "d": 1,
    }


def test_offsets_begin_well_after_the_old_ones() -> None:
    assert [round_up(one) for one in (0, 4_999, 5_000, 9_999, 10_000, 25_000)] == [
        10_000,
        10_000,
        20_000,
        20_000,
        20_000,
        40_000,
    ]
    plan = moved("T", ["b"], created("T", 1, ["a"], {}, NOW).brokers, NOW)
    assert [(number, old.broker_name, new.broker_name) for number, old, new in plan.moving("a")] == [
        (0, "a", "b")
    ]
    with pytest.raises(ClientError, match="before its start"):
        plan.settle(0, "a", -1)
    assert plan.settle(0, "a", 7_000) == 20_000
    assert plan.brokers["b"].mapping.queues[0][-1] == MappingItem(1, 0, "b", 20_000)
    assert list(plan.moving("a")) == []
    back = moved("T", ["a"], plan.brokers, NOW)
    assert back.settle(0, "b", 3) == 30_000
    items = back.brokers["a"].mapping.queues[0]
    assert [(one.gen, one.queue_id, one.broker_name, one.logic_offset) for one in items] == [
        (0, 0, "a", 0),
        (1, 0, "b", 20_000),
        (2, 1, "a", 30_000),
    ]


def test_queue_that_left_a_broker_before_is_not_settled_again() -> None:
    first = moved("T", ["b"], created("T", 2, ["a"], {}, NOW).brokers, NOW)
    brokers = settled(first, 5)
    plan = moved("T", ["c"], brokers, NOW)
    assert list(plan.moving("a")) == [] and len(list(plan.moving("b"))) == 2


def test_plan_round_trips() -> None:
    plan = moved("T", ["b", "c"], created("T", 2, ["a"], {}, NOW).brokers, NOW)
    document = json.loads(json.dumps(plan.to_json()))
    assert document["brokerToMapIn"] == ["b", "c"] and document["brokerToMapOut"] == ["a"]
    assert document["brokerConfigMap"]["a"]["mappingDetail"]["hostedQueues"]["0"][0]["bname"] == "a"
    assert StaticTopicPlan.from_json(document) == plan


@pytest.mark.parametrize(
    "document", [[], {}, {"brokerConfigMap": {"a": {}}}, {"brokerConfigMap": {"a": {"mappingDetail": 1}}}]
)
def test_invalid_plan_is_refused(document: Any) -> None:
    with pytest.raises(ClientError, match="not a mapping file"):
        StaticTopicPlan.from_json(document)


def test_plan_naming_an_undescribed_broker_is_refused() -> None:
    document = created("T", 1, ["a"], {}, NOW).to_json() | {"brokerToMapIn": ["x"]}
    with pytest.raises(ClientError, match="missing in the mapping: x"):
        StaticTopicPlan.from_json(document)


def test_complete_adds_the_other_brokers_of_the_cluster() -> None:
    plan = created("T", 2, ["a"], {}, NOW)
    plan.complete(["a", "b"])
    assert plan.brokers["b"] == BrokerShare.empty("T", "b", 2, plan.epoch)


def _spoil_epoch(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].mapping.epoch += 1


def _spoil_total(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].mapping.total_queues = 9


def _spoil_leader(brokers: dict[str, BrokerShare]) -> None:
    brokers["b"].mapping.queues[0] = [MappingItem(0, 0, "b", 0)]


def _spoil_missing(brokers: dict[str, BrokerShare]) -> None:
    del brokers["a"].mapping.queues[0]


def _spoil_place(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].mapping.queues[2] = brokers["a"].mapping.queues[0]


def _spoil_queue(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].config.write_queue_nums = 0


def _spoil_reading(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].config.read_queue_nums = 0


def _spoil_name(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].mapping.broker_name = "z"


def _spoil_broker(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].mapping.queues[0] = [MappingItem(0, 0, "z", 0)]


def _spoil_gen(brokers: dict[str, BrokerShare]) -> None:
    brokers["a"].mapping.queues[0] = [MappingItem(1, 0, "a", 0), MappingItem(0, 1, "a", 5)]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_spoil_epoch, "epochs of T differ between brokers"),
        (_spoil_total, "numbers of queues of T differ"),
        (_spoil_leader, "both a and b lead queue 0"),
        (_spoil_missing, r"T has 4 queues, but only \[1, 2, 3\] have a leader"),
        (_spoil_place, "are mapped to the same queue of a broker"),
        (_spoil_queue, "is mapped to a queue that a does not have"),
        (_spoil_reading, "fewer read queues than write queues"),
        (_spoil_name, "has the mapping of T at z"),
        (_spoil_broker, "z, which does not have the topic"),
        (_spoil_gen, "queue 0 at broker a: The gen does not increase"),
    ],
)
def test_contradictory_mappings_are_refused(spoil: Any, why: str) -> None:
    brokers = created("T", 4, ["a", "b"], {}, NOW).brokers
    spoil(brokers)
    for make in (lambda: created("T", 8, ["a"], brokers, NOW), lambda: moved("T", ["a"], brokers, NOW)):
        with pytest.raises(ClientError, match=why):
            make()
