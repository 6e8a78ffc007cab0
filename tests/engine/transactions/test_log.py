"""Transactions over time, on a store in memory: ends, checks, discarding, restarts, faults."""

import errno
from collections import Counter

import pytest

from mqgateway.engine.message import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from mqgateway.engine.tables.jsonfile import load_table
from tests.support.engine.transactions.transactions import INTERVAL, Bench, question_of

HOUR = 3_600_000
FOREVER = 1 << 30


def test_half_message_is_invisible_until_it_is_committed() -> None:
    bench = Bench()
    at = bench.send(b"a")
    assert bench.delivered == []
    assert bench.commit(at)
    assert bench.delivered == [b"a"]
    bench.wait(10 * INTERVAL)
    assert bench.questions == []
    assert bench.ops == [b"0,"]
    assert bench.progress == (1, 1)


def test_a_rolled_back_message_leaves_nothing() -> None:
    bench = Bench()
    assert bench.roll_back(bench.send(b"a"))
    bench.wait(10 * INTERVAL)
    assert (bench.delivered, bench.questions, bench.ops) == ([], [], [b"0,"])


def test_open_ones_are_listed_without_those_that_ended() -> None:
    bench = Bench()
    first, second, third = (bench.send(body) for body in (b"a", b"b", b"c"))
    assert bench.commit(second)
    shown = [half.stored.body for half in bench.log.open_halves(10)]
    assert shown == [b"a", b"c"]
    assert len(bench.log.open_halves(1)) == 1
    assert bench.roll_back(first) and bench.roll_back(third)
    assert bench.log.open_halves(10) == []


def test_ends_are_collected_for_the_batch_interval() -> None:
    bench = Bench()
    for at in [bench.send(b"a"), bench.send(b"b"), bench.send(b"c")]:
        bench.commit(at)
    bench.wait(2000)
    assert bench.ops == []
    bench.wait(2000)
    assert bench.ops == [b"0,1,2,"]


def test_many_ends_are_written_at_once() -> None:
    bench = Bench(options={"transaction_op_msg_max_size": 10})
    for at in [bench.send(b"%d" % number) for number in range(12)]:
        bench.commit(at)
    bench.store.dispatch()
    assert bench.ops == [b"0,1,2,3,4,", b"5,6,7,8,9,"]
    bench.wait(3000)
    assert bench.ops[2:] == [b"10,11,"]


def test_a_late_end_after_a_restart_settles_the_copy_too() -> None:
    bench = Bench()
    at = bench.send(b"a")
    bench.wait()
    bench = bench.restart()
    assert bench.commit(at)
    assert bench.wait(10 * INTERVAL) == []
    assert bench.delivered == [b"a"]
    assert bench.progress[0] == 2


def test_an_end_of_what_was_given_up_still_counts() -> None:
    """A producer with its own memory of transactions, such as a sink between checkpoints, is late."""
    bench = Bench(options={"transaction_check_max": 1})
    at = bench.send(b"a")
    bench.wait(3 * INTERVAL)
    assert bench.given_up == [b"a"]
    assert bench.commit(at)
    assert bench.delivered == [b"a"]


def test_resumed_one_is_checked_again() -> None:
    bench = Bench(options={"transaction_check_max": 1})
    bench.send(b"a")
    bench.wait(3 * INTERVAL)
    (kept,) = bench.stored("TRANS_CHECK_MAX_TIME_TOPIC")
    assert bench.log.resume(kept)
    assert bench.log.counts.count("T") == 1
    (question,) = bench.wait(2 * INTERVAL)
    assert question_of(question).properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert bench.commit(question.physical_offset)
    assert bench.delivered == [b"a"]


def test_a_message_that_never_was_one_is_not_resumed() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    (delivered,) = bench.stored("T", 1)
    del delivered.properties["REAL_TOPIC"]
    assert not bench.log.resume(delivered)


def test_only_half_messages_are_found() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    (delivered,) = bench.stored("T", 1)
    assert bench.log.find(delivered.physical_offset) is None
    assert bench.log.find(1) is None
    assert bench.log.find(1 << 40) is None


def test_a_clean_restart_asks_nothing_twice_and_loses_nothing() -> None:
    bench = Bench()
    ended, open_one = bench.send(b"a"), bench.send(b"b")
    bench.wait()
    bench.commit(ended)
    bench = bench.restart()
    assert bench.ops[-1] == b"0,2," or bench.ops[-1] == b"2,0,"
    (question,) = bench.wait()
    assert question_of(question).properties["TRANSACTION_CHECK_TIMES"] == "2"
    assert bench.commit(open_one)
    assert bench.wait(5 * INTERVAL) == []
    assert sorted(bench.delivered) == [b"a", b"b"]


def test_counts_outlive_a_restart() -> None:
    bench = Bench()
    bench.send(b"a")
    bench = bench.restart()
    assert bench.log.counts.table == {"T": 1}


def test_a_killed_broker_knows_its_commits_and_asks_again_about_what_was_rolled_back() -> None:
    """The op message was not written yet: the log has the commit itself, but nothing of the rollback."""
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.roll_back(bench.send(b"b"))
    bench = bench.kill()
    (question,) = bench.wait()
    assert question_of(question).body == b"b"
    assert bench.delivered == [b"a"]
    assert bench.wait(INTERVAL) != []


def test_a_loop_of_kills_delivers_nothing_twice() -> None:
    bench = Bench()
    first = [bench.send(b"a%d" % number) for number in range(8)]
    asked = bench.wait(INTERVAL + 7000)
    for number, offset in enumerate(first):
        bench.commit(offset if number % 2 else asked[number].physical_offset)
        bench.commit(bench.send(b"b%d" % number))
        bench = bench.kill()
        bench.wait(200, step=100)
        bench = bench.kill()
    assert bench.wait(2 * INTERVAL) == []
    assert Counter(bench.delivered) == {b"%c%d" % (kind, number): 1 for kind in b"ab" for number in range(8)}


def test_kills_before_the_first_op_message_deliver_nothing_twice_however_long_it_takes() -> None:
    """Commits found by the first start are not listed at the second one, and are not recent either."""
    bench = Bench()
    offset = bench.send(b"a")
    bench.commit(offset)
    for number in range(4):
        bench = bench.kill()
        bench.clock.advance(INTERVAL)
        bench.send(b"open%d" % number)
    bench = bench.kill()
    assert b"a" not in {question_of(question).body for question in bench.wait(2 * INTERVAL)}
    assert not bench.commit(offset)
    assert bench.delivered == [b"a"]


def test_an_orderly_stop_that_cannot_list_its_commits_delivers_nothing_twice() -> None:
    """As on a full disk: the log accepts no op message, but the store stops cleanly."""
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.offsets.persist()
    bench.store.stop()
    assert not bench.disk.exists("/store/abort"), "which says that the stop was in order"
    bench = Bench(bench.disk, bench.clock)
    assert bench.wait(2 * INTERVAL) == []
    assert bench.delivered == [b"a"]


def test_op_messages_are_written_early_when_the_log_grows() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.wait(100, step=100)
    assert bench.ops == []
    for _ in range(170):
        bench.send(b"x" * 100_000, UNIQ_KEY="x")
    bench.wait(100, step=100)
    assert bench.ops == [b"0,"]


def test_after_a_power_cut_only_what_the_log_lost_is_asked_about() -> None:
    for seed in range(20):
        bench = Bench()
        offsets = [bench.send(b"%d" % number) for number in range(4)]
        for offset in offsets[:2]:
            bench.commit(offset)
        bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
        bench.store.dispatch()
        for offset in offsets[2:]:
            bench.commit(offset)
        bench = bench.crash(seed)
        asked = {question_of(question).body for question in bench.wait()}
        assert sorted([*bench.delivered, *asked]) == [b"0", b"1", b"2", b"3"], seed


def test_a_killed_broker_keeps_what_it_noted() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.send(b"b")
    bench.wait()
    bench = bench.kill()
    (question,) = bench.wait()
    assert question_of(question).body == b"b"
    assert question_of(question).properties["TRANSACTION_CHECK_TIMES"] == "2"


def test_progress_does_not_run_ahead_of_what_is_durable() -> None:
    """The copy is in the page cache only: offsets that count it as a replacement would lose both."""
    bench = Bench(store_options={"flush_commit_log_thorough_interval": 10**9})
    bench.send(b"a")
    bench.wait(INTERVAL - 1000)
    bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
    bench.store.dispatch()
    bench.wait(2000)
    assert len(bench.halves) == 2
    assert bench.progress[0] == -1
    bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
    bench.store.dispatch()
    bench.wait(1000)
    assert bench.progress == (1, 1)


def test_the_offsets_are_written_as_those_of_the_standards_group() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.wait()
    bench.offsets.persist()
    table = load_table(bench.disk, "/store/config/consumerOffset.json")
    assert table is not None
    assert table["offsetTable"] == {
        "RMQ_SYS_TRANS_HALF_TOPIC@CID_RMQ_SYS_TRANS": {0: 1},
        "RMQ_SYS_TRANS_OP_HALF_TOPIC@CID_RMQ_SYS_TRANS": {0: 1},
    }


def test_offsets_beyond_the_queues_are_corrected(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.send(b"a")
    bench.offsets.commit("CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_HALF_TOPIC", 0, 50)
    bench.offsets.commit("CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_OP_HALF_TOPIC", 0, 60)
    bench = bench.restart()
    assert "resumes at 1 instead of 50" in caplog.text
    bench.send(b"b")
    assert [question_of(each).body for each in bench.wait()] == [b"b"]


def test_op_messages_of_version_4_list_one_offset_each() -> None:
    bench = Bench()
    bench.send(b"a")
    bench.send(b"b")
    message = bench.half(0).stored
    message.topic, message.body = "RMQ_SYS_TRANS_OP_HALF_TOPIC", b"1"
    message.properties = {"TAGS": "d"}
    bench.store.put(message)
    message.properties, message.body = {"TAGS": "other"}, b"0"
    bench.store.put(message)
    message.properties, message.body = {"TAGS": "d"}, b"x,,-1,\xff,"
    bench.store.put(message)
    bench = bench.restart()
    assert [question_of(each).body for each in bench.wait()] == [b"a"]


def test_a_full_disk_delays_and_loses_nothing() -> None:
    bench = Bench(options={"transaction_check_max": 1})
    at = bench.send(b"a")
    bench.send(b"b")
    bench.send(b"c", group="gone", CHECK_IMMUNITY_TIME_IN_SECONDS="1000")
    bench.commit(at)
    bench.disk.fail_next("write", "/commitlog/", errno.ENOSPC, times=FOREVER)
    assert bench.wait(2 * INTERVAL) == []
    bench.disk.heal()
    (question,) = bench.wait()
    assert question_of(question).body == b"b"
    bench.disk.fail_next("write", "/commitlog/", errno.ENOSPC, times=FOREVER)
    bench.wait(2 * INTERVAL)
    assert bench.given_up == []
    bench.disk.heal()
    bench.wait()
    assert bench.given_up == [b"b"]
    assert bench.delivered == [b"a"]


def test_a_commit_that_cannot_be_stored_can_be_repeated() -> None:
    bench = Bench()
    at = bench.send(b"a")
    bench.disk.fail_next("write", "/commitlog/", errno.ENOSPC, times=FOREVER)
    bench.commit(at)
    bench.disk.heal()
    assert bench.delivered == []
    assert bench.commit(at)
    assert bench.delivered == [b"a"]


def test_a_half_topic_that_was_deleted_begins_again() -> None:
    bench = Bench()
    bench.commit(bench.send(b"a"))
    bench.send(b"open", group="gone")
    bench.commit(bench.send(b"b"))
    bench.wait(INTERVAL + 15_000)
    assert bench.progress == (1, 0), "the op message is still needed"
    bench.offsets.remove_topic("RMQ_SYS_TRANS_HALF_TOPIC")
    bench.store.admin.delete_topics(["RMQ_SYS_TRANS_HALF_TOPIC"])
    bench.log.topic_deleted("RMQ_SYS_TRANS_HALF_TOPIC")
    for body in (b"c", b"d", b"e"):
        bench.send(body)
    bench = bench.restart()
    assert {question_of(each).body for each in bench.wait()} == {b"c", b"d", b"e"}


def test_ends_are_reported_again_when_their_topic_was_deleted() -> None:
    bench = Bench()
    bench.send(b"open", group="gone")
    bench.commit(bench.send(b"a"))
    bench.wait(INTERVAL + 15_000)
    bench.offsets.remove_topic("RMQ_SYS_TRANS_OP_HALF_TOPIC")
    bench.store.admin.delete_topics(["RMQ_SYS_TRANS_OP_HALF_TOPIC"])
    bench.log.topic_deleted("RMQ_SYS_TRANS_OP_HALF_TOPIC")
    bench = bench.restart()
    assert bench.ops == [b"1,"]
    assert bench.wait() == []


def test_questions_and_ends_are_counted_as_the_group_of_transactions() -> None:
    """One half message is read and put again with a check; then its producer ends it."""
    bench = Bench()
    bench.send(b"a")
    ((question,),) = [bench.wait()]
    bench.commit(question.physical_offset)
    bench.wait(10 * INTERVAL)
    assert len(bench.ops) == 2, "one for the question's copy, one for the end"
    half, op = (f"{topic}@CID_RMQ_SYS_TRANS" for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC))
    assert bench.counted.puts == {TRANS_HALF_TOPIC: 1, TRANS_OP_HALF_TOPIC: 2}
    assert bench.counted.gots == {half: 1, op: 2}
    assert bench.counted.bytes[TRANS_HALF_TOPIC] == bench.halves[1].size
    assert bench.counted.bytes[half] == bench.halves[0].size
    assert bench.counted.bytes[op] == sum(each.size for each in bench.stored(TRANS_OP_HALF_TOPIC))


def test_op_messages_that_a_start_reads_are_counted() -> None:
    bench = Bench()
    bench.send(b"a")
    bench.roll_back(bench.send(b"b"))
    bench = bench.restart()
    assert bench.counted.gots == {f"{TRANS_OP_HALF_TOPIC}@CID_RMQ_SYS_TRANS": 1}
