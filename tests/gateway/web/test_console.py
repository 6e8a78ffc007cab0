from twisted.internet.defer import Deferred

from mqgateway.gateway.web import console as module
from mqgateway.gateway.web.call import Caller, WebCall
from mqgateway.gateway.web.route import Role
from tests.support.gateway.console import ConsoleWorld

CALL = WebCall(Caller("alice", Role.ADMIN, "10.0.0.9"), 5)


def test_figures_are_rates_since_the_counts_before() -> None:
    world = ConsoleWorld()
    before = world.console.counts()
    world.broker.stats.put("T", 10, 100)
    world.broker.stats.got("G", "T", 4, 100)
    world.memory.clock.advance(2_000)
    figures = world.console.figures(before)
    assert (figures["in"], figures["out"], figures["consumers"]) == (5, 2, 0)
    world.console.sample()
    assert world.console.rings.last()["in"] == 5
    world.memory.clock.advance(10_000)
    world.console.sample()
    assert world.console.rings.last()["in"] == 0 and len(world.console.rings) == 2


def test_long_work_gives_way() -> None:
    world = ConsoleWorld()
    done = []

    async def work() -> None:
        breathe = world.console.turns()
        for step in range(3):
            world.memory.clock.advance(1000 * module.TURN_SECONDS)
            await breathe()
            done.append(step)

    Deferred.fromCoroutine(work())
    assert done == []
    world.clockwork.advance(0)
    assert done == [0, 1, 2]


def test_offsets_that_were_changed_are_kept_up_to_a_number() -> None:
    console = ConsoleWorld().console
    ids = [console.keep_reset(CALL, "G", "T", {0: 1}) for _ in range(module.RESETS_MAX + 5)]
    assert ids == list(range(1, module.RESETS_MAX + 6))
    assert list(console.resets) == ids[5:]
    assert console.resets[6].user == "alice"


def test_writes_are_noted() -> None:
    console = ConsoleWorld().console
    console.note(WebCall(CALL.caller, 7, before=1, after=2), "PUT /x", {"about": {}}, "")
    console.note(CALL, "PUT /y", {"about": {}}, "no")
    assert [(entry["action"], entry["refusal"], entry.get("before")) for entry in console.audit] == [
        ("PUT /x", "", 1),
        ("PUT /y", "no", None),
    ]
