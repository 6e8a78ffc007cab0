from mqgateway.engine.options import StoreOptions
from mqgateway.gateway.web.api.store import forecast
from tests.support.gateway.broker.helpers import MemoryBroker
from tests.support.gateway.console import console

GIB = 1 << 30
SMALL = {"mapped_file_size_commit_log": 4096}


def test_forecast_of_a_disk() -> None:
    options = StoreOptions(disk_max_used_space_ratio=75, disk_space_warning_level_ratio=90)
    options.disk_free_space_min = 5 * GIB
    assert forecast(options, 100 * GIB, 50 * GIB, GIB) == (25, 45)  # 10 GiB would be 90 %, 5 GiB count
    assert forecast(options, 10 * GIB, 2 * GIB, GIB) == (0, 1)
    assert forecast(options, 100 * GIB, 50 * GIB, 0) == (None, None)
    assert forecast(options, 100 * GIB, 4 * GIB, 0) == (0, 0)


def test_positions_in_the_log() -> None:
    browser = console()
    world = browser.world
    world.memory.add_topic("T")
    before = browser.get("/store")
    assert before["growth"] is None and before["logBytes"] == 0 and before["refusal"] == ""
    world.put("T", b"x" * 500)
    world.memory.clock.advance(10_000)
    world.console.sample()
    answer = browser.get("/store")
    end = world.broker.store.max_physical_offset
    assert answer["positions"]["end"] == answer["positions"]["dispatched"] == answer["logBytes"] == end > 500
    assert answer["positions"]["flushed"] == 0 and answer["growth"] == round(end / 10, 2)
    assert (answer["segments"], answer["queues"]) == (1, 1) and answer["retention"]["deleteWhen"] == "04"
    assert {disk["path"] for disk in answer["disks"]} == {"/store/commitlog", "/store/consumequeue"}


def test_damaged_records_are_shown() -> None:
    browser = console()
    damaged = browser.world.broker.store.damaged
    assert isinstance(damaged, dict)
    damaged[77] = "its checksum is wrong"
    answer = browser.get("/store")
    assert (answer["damagedRecords"], answer["damaged"]) == (
        1,
        [{"offset": 77, "what": "its checksum is wrong"}],
    )


def test_a_page_of_segments() -> None:
    browser = console(memory=lambda **given: MemoryBroker(store_options=SMALL, **given))
    world = browser.world
    world.memory.add_topic("T")
    for _ in range(9):
        world.put("T", b"x" * 1000)
    first = browser.get("/store/segments?limit=2")
    assert [row["name"] for row in first["rows"]] == [f"{start:020d}" for start in (0, 4096)]
    assert first["total"] == 3 and first["rows"][0]["used"] == 4096
    assert first["rows"][0]["goes"] == first["rows"][0]["written"] + 72 * 3_600_000
    [last] = browser.get(f"/store/segments?limit=2&cursor={first['cursor']}")["rows"]
    assert last["goes"] is None and 0 < last["used"] < 4096
    assert not last["isFlushed"] and last["isDispatched"]
    newest = browser.get("/store/segments?limit=1&descending=true")["rows"]
    assert newest == [last]
