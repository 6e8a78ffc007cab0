from tests.support.gateway.broker.pop import INVISIBLE, PopBroker
from tests.support.gateway.console import ConsoleBrowser, console


def popped() -> ConsoleBrowser:
    """Three messages of queue 0 are out, one of queue 1, and a pop of group H waits."""
    browser = console(memory=PopBroker)
    memory = browser.world.memory
    assert isinstance(memory, PopBroker)
    for queue_id in (0, 0, 0, 1):
        memory.send("T", b"x", queue_id=queue_id)
    assert len(memory.pop()) == 4
    memory.ask_pop(
        poll_time=20_000, consumer_group="H", topic="T", queue_id=3, born_time=memory.clock.millis()
    )
    return browser


def test_queues_that_are_popped() -> None:
    browser = popped()
    answer = browser.get("/pops/held")
    shown = [(row["group"], row["queueId"], row["out"], row["waiting"]) for row in answer["rows"]]
    assert shown == [("G", 0, 3, 0), ("G", 1, 1, 0), ("H", 3, 0, 1)]
    assert (answer["rows"][0]["offset"], answer["rows"][0]["maxOffset"]) == (3, 3)
    first = browser.get("/pops/held?sort=out&descending=true&limit=2")
    assert [row["out"] for row in first["rows"]] == [3, 1]
    assert [row["group"] for row in browser.get("/pops/held?search=h")["rows"]] == ["H"]
    assert browser.get("/pops/held?sort=waiting&descending=true")["rows"][0]["group"] == "H"


def test_counts_and_how_far_revival_is() -> None:
    browser = popped()
    memory = browser.world.memory
    answer = browser.get("/pops")
    assert answer["isRevived"] and (answer["waitingPops"], answer["queuesWithMessagesOut"]) == (1, 2)
    assert len(answer["revive"]) == memory.options.revive_queue_num
    assert not any(queue["behind"] or queue["checkPoints"] for queue in answer["revive"])
    assert isinstance(memory, PopBroker)
    memory.pass_time(INVISIBLE + 1_000)  # check points have come, and are not done with
    behind = [queue["behind"] for queue in browser.get("/pops")["revive"]]
    assert sum(behind) == sum(memory.broker.pop.log.open_points) == 2
    memory.pass_time(20_000)
    answer = browser.get("/pops")
    assert not any(queue["behind"] for queue in answer["revive"]) and not answer["queuesWithMessagesOut"]
