"""The expected unit of a record: delays, batches as one record, LMQ queues, queues of both kinds."""

from mqgateway.engine.disk import Disk
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE
from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import find_files
from mqgateway.engine.upkeep.queue_check import last_number, place_at
from tests.support.engine.store.kafka_batches import fill_kafka
from tests.support.engine.store.stores import ROOT, Bench, batch, message, options
from tests.support.engine.upkeep.damage import QUEUE, change, check, fill, filled, findings, flip, the_finding

BATCH_QUEUE = f"{ROOT}/batchconsumequeue/batched/0/{0:020d}"


def test_the_last_unit_is_found() -> None:
    disk = filled(30)
    files = find_files(FilePool(disk), QUEUE.rpartition("/")[0], StorePart.QUEUE, Findings(), "")
    assert last_number(files, UNIT_SIZE) == 14
    assert place_at(files, 14 * UNIT_SIZE)[1] > 91
    assert place_at(files, 15 * UNIT_SIZE) == (0, 0)
    assert last_number(FileQueue(FilePool(disk), "/none", 100), UNIT_SIZE) == -1


def test_other_delay_levels_than_those_the_units_were_written_with() -> None:
    disk = filled(3)
    report = check(disk, settings=options(message_delay_level="1s 2s 3s"))
    (finding,) = report.findings.kept
    assert "SCHEDULE_TOPIC_XXXX" in finding.path


def test_lmq_queues_that_are_there_are_compared() -> None:
    bench = fill(3)
    properties = {"INNER_MULTI_DISPATCH": "%LMQ%a,b", "INNER_MULTI_QUEUE_OFFSET": "0,0"}
    offset = bench.store.max_physical_offset
    bench.put(message("orders", 0, b"to light queues", properties))
    size = bench.store.max_physical_offset - offset
    bench.store.stop()
    disk = bench.disk
    path = f"{ROOT}/consumequeue/%LMQ%a/0/{0:020d}"
    disk.makedirs(path.rpartition("/")[0])
    file = disk.open(path, create=True)
    file.truncate(200)
    file.write(0, UNIT.pack(offset, size, 0))
    assert findings(disk) == []
    file.write(0, UNIT.pack(offset, size, 9))
    assert the_finding(disk).path == path


def with_batches() -> Disk:
    """Return a store with a topic of batch consume queues: batches as one record, and a single message."""
    bench = Bench(mapper_file_size_batch_consume_queue=460)
    for number in range(4):
        result = bench.store.put_inner_batch(
            message("batched", 0, batch(b"one", b"two", b"three %d" % number))
        )
        assert result.status.name == "PUT_OK", result.remark
        bench.store.dispatch()
    bench.put(message("batched", 0, b"alone"))
    bench.put(message("orders", 0))
    bench.store.stop()
    return bench.disk


def test_batch_consume_queues() -> None:
    disk = with_batches()
    report = check(disk)
    assert report.findings.kept == []
    assert report.units == 6


def test_units_of_record_batches_of_kafka_are_sound() -> None:
    bench = Bench(mapper_file_size_batch_consume_queue=460)
    fill_kafka(bench, 3, 1, 50)
    bench.store.stop()
    assert findings(bench.disk) == []
    assert check(bench.disk).units == 3


def test_no_flipped_bit_of_a_batch_unit_stays_hidden() -> None:
    disk = with_batches()
    for byte in range(2 * BATCH_UNIT_SIZE):
        undo = flip(disk, BATCH_QUEUE, byte, byte % 8)
        assert findings(disk), f"byte {byte}"
        undo()


def test_lost_units_of_a_batch_queue() -> None:
    disk = with_batches()
    change(disk, BATCH_QUEUE, 2 * BATCH_UNIT_SIZE, bytes(2 * BATCH_UNIT_SIZE))
    assert "are missing" in findings(disk)[0].what
    disk.rmtree(f"{ROOT}/batchconsumequeue")
    assert findings(disk)[0].part == "batchconsumequeue"


def test_files_that_are_no_multiple_of_a_unit() -> None:
    disk = filled(4)
    for name in ("0", "1"):
        disk.open(f"{ROOT}/consumequeue/orders/{name}/{0:020d}").truncate(210)
    assert "not a multiple of 20" in findings(disk)[0].what
