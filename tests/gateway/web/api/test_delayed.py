from mqgateway.engine.message import Message
from mqgateway.gateway.broker.operations import HangingTransaction
from tests.support.gateway.console import HOST_BYTES, console
from tests.support.gateway.coordinated import OneGroup, kafka_group


def test_delay_levels_that_wait() -> None:
    browser = console()
    browser.world.memory.add_topic("T")
    browser.do("POST", "/topics/T/messages", {"body": "later", "delayLevel": 4})
    answer = browser.get("/delayed")
    waiting = [
        (level["level"], level["delay"], level["messages"]) for level in answer["levels"] if level["messages"]
    ]
    assert waiting == [(4, 30_000, 1)]


def test_timers_by_the_time_they_are_due() -> None:
    browser = console()
    world = browser.world
    world.memory.add_topic("T")
    world.broker.timers.load()
    for seconds in (90, 90, 200):
        properties = {"TIMER_DELAY_SEC": str(seconds)}
        browser.do("POST", "/topics/T/messages", {"body": "x", "properties": properties})
    for _ in range(5):
        world.memory.clock.advance(1_000)
        world.broker.store.tick()
        world.broker.timers.tick(world.broker.store.steady.now())
    answer = browser.get("/delayed?minutes=60")
    assert (answer["timers"], answer["topics"]) == (3, [{"topic": "T", "messages": 3}])
    assert [bar["messages"] for bar in answer["bars"][:5]] == [0, 2, 0, 1, 0]
    assert sum(bar["messages"] for bar in browser.get("/delayed?minutes=2")["bars"]) == 2


def test_open_transactions() -> None:
    browser = console()
    broker = browser.world.broker
    browser.world.memory.add_topic("T")
    broker.transactions.load()
    now = browser.world.memory.clock.millis()
    for key in ("a", "b"):
        message = Message("T", 0, b"x", {"PGROUP": "P", "UNIQ_KEY": key}, now, HOST_BYTES, broker.store_host)
        broker.transactions.prepare(message)
        broker.store.put(message)
        broker.transactions.prepared("T")
    broker.store.dispatch()
    browser.world.memory.clock.advance(3_000)
    answer = browser.get("/transactions")
    assert answer["topics"] == [{"topic": "T", "messages": 2}]
    assert [(row["topic"], row["group"], row["age"], row["checks"]) for row in answer["rows"]] == [
        ("T", "P", 3000, 0)
    ] * 2
    assert len(browser.get("/transactions?limit=1")["rows"]) == 1
    half = broker.transactions.open_halves(1)[0]
    assert broker.transactions.roll_back(half)
    assert [row["id"] for row in browser.get("/transactions")["rows"]] == [answer["rows"][1]["id"]]


def test_hanging_transactions_of_kafka_are_listed_up_to_the_limit() -> None:
    browser = console()
    assert browser.get("/transactions")["hanging"] == []
    found = [HangingTransaction("T", number, 7, 0, 3, 1000, "end it") for number in range(2)]
    browser.world.console.operations.coordinated.attach(OneGroup("G", kafka_group(), found))
    assert browser.get("/transactions")["hanging"] == [one._asdict() for one in found]
    assert len(browser.get("/transactions?limit=1")["hanging"]) == 1
