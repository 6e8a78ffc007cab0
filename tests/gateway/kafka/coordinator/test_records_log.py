"""The log in memory keeps records until they are released."""

from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, Records, Stored


def test_records_are_numbered_and_released_from_the_first_on() -> None:
    log, firsts = MemoryRecordsLog(), list[int]()
    log.append(Records([(b"a", b"1"), (b"b", None)])).addCallback(firsts.append)
    log.time = 5
    log.append(Records([(b"c", b"3")])).addCallback(firsts.append)
    log.release(1)
    assert firsts == [0, 2]
    assert list(log.replay()) == [Stored(1, 0, b"b", None), Stored(2, 5, b"c", b"3")]
