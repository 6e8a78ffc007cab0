from mqgateway.gateway.web.api.behind import behind
from tests.support.gateway.console import ConsoleWorld


def test_what_was_not_committed_is_counted() -> None:
    world = ConsoleWorld()
    world.memory.add_topic("T", queues=2)
    for _ in range(5):
        world.put("T")
    assert behind(world.broker, "T", "G") == 0
    world.broker.tables.offsets.commit("G", "T", 0, 2)
    world.broker.tables.offsets.commit("G", "T", 1, 0)
    assert behind(world.broker, "T", "G") == 3
