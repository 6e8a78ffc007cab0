"""Records that are refused, and many of them."""

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory
from tests.gateway.kafka.coordinator.test_journal import SlowLog
from tests.support.gateway.kafka.groups import Groups, end_with


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


def test_repeated_heartbeat_waits_for_the_earlier_write() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    first = groups.send_consumer_heartbeat("a")
    repeated = groups.send_consumer_heartbeat("a")
    assert len(log.waiting) == 1
    assert first == repeated == []
    log.end_write(0)
    assert first[0].member_epoch == repeated[0].member_epoch == 2
    assert len(groups.send_consumer_heartbeat("a", 2)) == 1


def test_repeated_heartbeat_fails_with_the_earlier_write() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    answers = groups.send_consumer_heartbeat("a"), groups.send_consumer_heartbeat("a")
    fail_write(log)
    assert [one[0].error_code for one in answers] == [E.COORDINATOR_NOT_AVAILABLE] * 2
    again = groups.send_consumer_heartbeat("a", 2)
    assert again == []
    log.end_write(1)
    assert again[0].error_code == E.NONE


def test_heartbeat_of_one_member_waits_for_writes_of_its_group_only() -> None:
    log = SlowLog()
    groups = Groups(log=log)
    groups.send_consumer_heartbeat("a")
    log.end_write(0)
    other = groups.send_consumer_heartbeat("x", group="other")
    assert len(groups.send_consumer_heartbeat("a", 2)) == 1
    joining = groups.send_consumer_heartbeat("b")
    waits = groups.send_consumer_heartbeat("a", 2)
    assert other == joining == waits == []
    log.end_write(1)
    log.end_write(2)
    assert len(other) == len(joining) == len(waits) == 1


def large_group(log: SlowLog) -> Groups:
    """Return a group whose targets are computed, and about to be written in steps."""
    groups = Groups(log=log, catalog=TopicsInMemory({"orders": 400}))
    for number in range(120):
        groups.send_consumer_heartbeat(f"m{number}")
        log.end_write(number)
    log.waiting.clear()
    groups.held = []
    groups.pass_time(1100)
    steps, done = groups.held.pop()
    end_with(run(steps), done)
    assert len(groups.held) == 1
    return groups


def test_heartbeat_waits_for_records_that_are_written_in_steps() -> None:
    log = SlowLog()
    groups = large_group(log)
    waits = groups.send_consumer_heartbeat("m0", 2)
    groups.run_held()
    assert len(log.waiting) == 2
    log.end_write(0)
    assert waits == []
    log.end_write(1)
    assert waits[0].error_code == E.NONE
    assert len(groups.send_consumer_heartbeat("m0", waits[0].member_epoch)) == 1


def test_heartbeat_fails_with_records_that_are_written_in_steps() -> None:
    log = SlowLog()
    groups = large_group(log)
    waits = groups.send_consumer_heartbeat("m0", 2)
    groups.run_held()
    fail_write(log)
    assert waits[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    log.end_write(1)
    again = groups.send_consumer_heartbeat("m0", 2)
    groups.run_held()
    assert again == []
    log.end_write(2)
    assert again[0].error_code == E.NONE
    assert groups.restarted().consumers().targets == groups.consumers().targets


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
