"""Records that are refused, and many of them."""

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.consumer_groups.topics import TopicsInMemory
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from tests.gateway.kafka.coordinator.test_journal import SlowLog
from tests.support.gateway.kafka.groups import Groups


def fail_write(log: SlowLog) -> None:
    """Refuse the first records."""
    done, _ = log.waiting[0]
    done.errback(NotWritten(E.COORDINATOR_NOT_AVAILABLE, "refused"))


def test_heartbeat_is_answered_once_its_records_are_durable() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    answers = groups.send_consumer_heartbeat("a")
    assert answers == []
    log.end_write(0)
    assert answers[0].member_epoch == 2


def test_refused_records_are_written_again() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    answers = groups.send_consumer_heartbeat("a")
    fail_write(log)
    assert answers[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    groups.pass_time(5100)
    assert len(log.waiting) == 2
    log.end_write(1)
    assert groups.restarted().consumer_heartbeat("a", 2).error_code == E.NONE


def test_records_of_a_group_that_was_deleted_are_not_written_again() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    log.time = groups.clock.millis()
    groups.send_consumer_heartbeat("a")
    fail_write(log)
    groups.coordinator.unload()
    for _ in groups.coordinator.load():
        pass
    groups.pass_time(6000)
    assert len(log.waiting) == 1


def test_large_group_is_written_in_parts() -> None:
    groups = Groups(catalog=TopicsInMemory({"orders": 400}))
    for number in range(120):
        groups.consumer_heartbeat(f"m{number}")
    groups.held = []
    groups.pass_time(1100)
    groups.run_held()
    written = groups.restarted().consumers()
    assert written.assignment_epoch == groups.consumers().assignment_epoch
    assert written.targets == groups.consumers().targets
