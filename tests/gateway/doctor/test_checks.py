"""Each check finds its cause in a group that has it, and nothing in one that has not."""

from dataclasses import replace

import pytest

from mqgateway.gateway.doctor.checks import (
    CACHED_MAX,
    IDLE_MILLIS,
    TRANSACTION_MILLIS,
    Finding,
    examine,
)
from mqgateway.gateway.doctor.evidence import (
    ConnectedMember,
    ConsumedQueue,
    DiagnosedGroup,
    Held,
    QueueKey,
    Rates,
    Sample,
    SubscribedTopic,
)
from mqgateway.gateway.doctor.texts import TEXTS

AT = 1_700_000_000_000
PLACE = QueueKey("Orders", "broker-a", 0)
HELD = Held(cached=5, last_pull=AT - 10, last_consume=AT - 10)
MEMBER = ConnectedMember(
    "one", "JAVA", wants={"Orders": "*"}, holds={PLACE: HELD}, rates={"Orders": Rates(20.0, 0.0, 3.0)}
)
QUEUE = ConsumedQueue(PLACE, 0, 100, 40, pulled=45, sample=Sample(32, 32))
TOPIC = SubscribedTopic("Orders", incoming=10.0)
WELL = DiagnosedGroup("billing", AT, members=[MEMBER], topics={"Orders": TOPIC}, queues=[QUEUE])


def _held(**changes: int | bool) -> DiagnosedGroup:
    return replace(WELL, members=[replace(MEMBER, holds={PLACE: replace(HELD, **changes)})])


def _topic(**changes: object) -> DiagnosedGroup:
    return replace(WELL, topics={"Orders": replace(TOPIC, **changes)})


def _queue(**changes: object) -> DiagnosedGroup:
    return replace(WELL, queues=[replace(QUEUE, **changes)])


def _second(**changes: object) -> DiagnosedGroup:
    return replace(WELL, members=[MEMBER, replace(MEMBER, client_id="two", **changes)])


def _rates(rates: Rates, topic: SubscribedTopic = TOPIC) -> DiagnosedGroup:
    return replace(WELL, members=[replace(MEMBER, rates={"Orders": rates})], topics={"Orders": topic})


OLD = AT - IDLE_MILLIS - 1
ILL = [
    (replace(WELL, is_known=False, members=[]), "unknown-group"),
    (replace(WELL, may_consume=False), "group-disabled"),
    (replace(WELL, members=[]), "no-member"),
    (replace(WELL, state="Assigning"), "rebalancing"),
    (replace(WELL, members=[replace(MEMBER, rates=None)], idle_millis=IDLE_MILLIS), "no-progress"),
    (_topic(has_route=False), "no-route"),
    (_topic(is_readable=False), "topic-unreadable"),
    (_topic(is_allowed=False), "reading-forbidden"),
    (replace(WELL, members=[replace(MEMBER, wants={"Other": "*"})]), "not-subscribed"),
    (_second(wants={"Orders": "TagA"}), "subscription-conflict"),
    (_queue(sample=Sample(32, 0)), "filter-matches-nothing"),
    (_queue(least=50), "offset-lost"),
    (_queue(consumed=101), "offset-ahead"),
    (
        replace(WELL, members=[replace(MEMBER, holds={QueueKey("Orders", "broker-a", 1): HELD})]),
        "queue-without-owner",
    ),
    (_held(lacks_lock=True), "lock-held"),
    (
        replace(
            WELL,
            members=[replace(MEMBER, is_ordered=True, holds={PLACE: replace(HELD, last_consume=OLD)})],
        ),
        "queue-suspended",
    ),
    (_held(last_consume=OLD), "listener-hangs"),
    (_held(cached=0, last_pull=OLD), "not-pulling"),
    (_held(cached=CACHED_MAX), "flow-control"),
    (_held(cached_mib=100), "flow-control"),
    (_rates(Rates(20.0, 0.0, 3.0), replace(TOPIC, incoming=21.0)), "slow-listener"),
    (_rates(Rates(20.0, 20.0, 3.0)), "retry-storm"),
    (replace(WELL, retries_behind=5), "retries-waiting"),
    (replace(_queue(pulled=70), is_popping=True), "pop-invisible"),
    (_topic(transactions=[AT, AT - TRANSACTION_MILLIS - 1]), "transaction-pending"),
    (replace(WELL, dead_letters=3), "dead-letters"),
    (_second(holds={}), "idle-members"),
]


@pytest.mark.parametrize(("group", "check"), ILL, ids=[check for _, check in ILL])
def test_a_check_finds_its_cause_and_says_what_helps(group: DiagnosedGroup, check: str) -> None:
    (found,) = examine(group)
    assert found.check == check
    assert "{" not in found.what + found.cure, "every value is filled in"


def test_every_finding_that_can_be_reported_is_found_somewhere() -> None:
    assert {check for _, check in ILL} == TEXTS.keys()


UNKNOWN = ConnectedMember("one")
SOUND = [
    pytest.param(WELL, id="nothing is the matter"),
    pytest.param(_held(last_consume=AT - IDLE_MILLIS), id="a listener that takes its time"),
    pytest.param(_held(cached=0, last_pull=0), id="it does not say when it pulled"),
    pytest.param(_held(cached=CACHED_MAX - 1), id="room for one"),
    pytest.param(_rates(Rates(20.0, 19.0, 3.0)), id="fewer fail than not"),
    pytest.param(_rates(Rates(20.0, 0.0, 3.0), replace(TOPIC, incoming=20.0)), id="as fast as they come"),
    pytest.param(_rates(Rates(), replace(TOPIC, incoming=None)), id="not known how fast they come"),
    pytest.param(_queue(pulled=70), id="pulled, not popped"),
    pytest.param(_queue(sample=Sample(0, 0)), id="no message to look at"),
    pytest.param(_queue(consumed=-1, least=50), id="a queue that was never read"),
    pytest.param(_topic(transactions=[AT, AT - 1]), id="a transaction of this moment"),
    pytest.param(replace(WELL, members=[UNKNOWN]), id="a client that says nothing of itself"),
    pytest.param(replace(WELL, members=[MEMBER, UNKNOWN]), id="one of two that says nothing"),
    pytest.param(replace(_second(holds={}), is_broadcasting=True), id="in a broadcast nobody shares queues"),
]


@pytest.mark.parametrize("group", SOUND)
def test_nothing_is_found_where_nothing_is_the_matter(group: DiagnosedGroup) -> None:
    assert examine(group) == []


def test_queues_with_nothing_to_consume_are_nobodys_fault() -> None:
    done = replace(QUEUE, consumed=100)
    assert examine(replace(_held(last_consume=OLD), queues=[done])) == []
    (found,) = examine(replace(WELL, members=[], queues=[done]))
    assert found == Finding("no-member", "warning", {"group": "billing", "behind": 0})


def test_causes_come_before_warnings() -> None:
    group = replace(_held(last_consume=OLD), dead_letters=3, may_consume=False)
    assert [one.check for one in examine(group)] == ["group-disabled", "listener-hangs", "dead-letters"]


def test_unknown_group_has_no_other_finding() -> None:
    group = DiagnosedGroup("typo", AT, is_known=False, topics={"Orders": replace(TOPIC, has_route=False)})
    assert [one.check for one in examine(group)] == ["unknown-group"]


def test_many_queues_are_counted() -> None:
    queues = [ConsumedQueue(QueueKey("Orders", "broker-a", number), 0, 9, 10) for number in range(4)]
    (found,) = examine(replace(WELL, queues=queues))
    assert found.values["queues"] == "broker-a:0, broker-a:1, broker-a:2, ... (4)"
    (found,) = examine(replace(WELL, queues=queues[:2]))
    assert found.values["queues"] == "broker-a:0, broker-a:1"


def test_a_conflict_names_who_wants_what() -> None:
    (found,) = examine(_second(wants={"Orders": "TagA"}))
    assert found.values["wanted"] == "* (one); TagA (two)"


def test_incomplete_evidence_makes_no_finding_of_what_is_missing() -> None:
    for group in (replace(WELL, is_known=False, members=[]), replace(WELL, members=[])):
        assert {one.check for one in examine(group)} & {"unknown-group", "no-member"}
        found = {one.check for one in examine(replace(group, is_complete=False))}
        assert not found & {"unknown-group", "no-member"}
