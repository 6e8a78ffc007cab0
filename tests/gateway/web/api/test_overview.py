from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.doctor.checks import IDLE_MILLIS
from tests.support.gateway.console import console


def test_the_broker_at_a_glance() -> None:
    browser = console()
    world = browser.world
    world.memory.add_topic("T")
    world.broker.tables.groups.put(SubscriptionGroupConfig("G"))
    for _ in range(3):
        world.put("T")
    world.put("%DLQ%G")
    world.memory.add_topic("%DLQ%G", queues=1)
    world.broker.tables.offsets.commit("G", "T", 0, 1)
    world.broker.flow_control.count("requests in flight", "x")
    answer = browser.get("/overview")
    assert (answer["name"], answer["role"], answer["deadLetters"]) == ("broker-a", "master", 1)
    assert answer["furthestBehind"] == [{"group": "G", "behind": 2}]
    assert answer["warnings"] == [{"kind": "flowControl", "cause": "requests in flight", "count": 1}]
    assert answer["health"]["store"] == {"ok": True, "state": "open"}
    for disk in browser.get("/store")["disks"]:
        assert (answer["diskBytes"], answer["diskFreeBytes"]) == (disk["bytes"], disk["freeBytes"])
    assert 0 < answer["diskFreeBytes"] <= answer["diskBytes"]
    assert answer["topics"] == browser.get("/topics")["total"] == 1
    assert answer["groups"] == browser.get("/groups")["total"] == 1


def test_stuck_group_needs_attention() -> None:
    browser = console()
    world = browser.world
    world.memory.add_topic("T")
    world.put("T")
    for group in ("Stuck", "Gone"):
        world.broker.tables.groups.put(SubscriptionGroupConfig(group))
        world.broker.tables.offsets.commit(group, "T", 0, 0)
    world.memory.subscribe("Stuck", "T")
    assert browser.get("/overview")["warnings"] == []
    for group in ("Stuck", "Gone"):
        for now in (0, IDLE_MILLIS):
            world.console.lags.note(group, now, 1, 0)
    assert browser.get("/overview")["warnings"] == [{"kind": "stuck", "group": "Stuck"}]


def test_charts_and_events() -> None:
    browser = console()
    world = browser.world
    for _ in range(3):
        world.memory.clock.advance(10_000)
        world.broker.stats.put("T", 10, 100)
        world.console.sample()
    series = browser.get("/series?minutes=5")
    assert series["in"] == [1, 1, 1] and len(series["time"]) == 3
    stream = browser.open()
    stream.send(
        f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nCookie: {browser.cookie}\r\n\r\n".encode()
    )
    world.broker.stats.put("T", 10, 100)
    world.memory.clock.advance(2_000)
    world.clockwork.advance(2)
    assert b'"in":5.0' in stream.transport.value()


def test_the_audit_is_searched_and_limited() -> None:
    browser = console()
    for number in range(3):
        browser.do("POST", "/topics", {"topic": f"T{number}"})
    assert browser.get("/audit?limit=2")["total"] == 3
    [row] = browser.get("/audit?search=T1")["rows"]
    assert row["about"]["topic"] == "T1" and row["after"]["topicName"] == "T1"
