"""Clock, files, timers and the global reactor are used in a few listed modules only."""

import ast
from functools import cache
from pathlib import Path

from tests.house.source import imported_modules, nodes, source_files

CLOCKS = {"engine/clock.py"}
# The wall clock may be set, back too. Who reads it (`Clock.millis`) is named here, with what it is read for:
# something that is written or shown. What lasts or is due goes by `elapsed_millis` or `engine.steady_clock`.
WALL_TIME = {
    "engine/clock.py": "the clock itself",
    "engine/steady_clock.py": "where steady time begins, and how far the wall clock was set since",
    "gateway/cli/kafka.py": "compared with when transactions started",
    "engine/cold_reads.py": "shown: when a group was first and last heard of",
    "gateway/kafka/coordinator_view.py": "compared with when transactions started",
    "gateway/kafka/stuck_transactions.py": "compared with when records of transactions were stored",
    "gateway/kafka/coordinator_queue.py": "written: the times of records of coordinators",
    "gateway/kafka/delegation.py": "written: when tokens expire",
    "gateway/kafka/sasl/authentication.py": "compared with when tokens expire",
    "gateway/kafka/sasl/token_settings.py": "compared with the times of access tokens",
    "gateway/kafka/dead_letters.py": "written: the times of dead letters",
    "gateway/kafka/consumer_groups/subscriptions.py": "written: when the topics of an expression were found",
    "gateway/kafka/consumer_groups/heartbeats.py": "written: when targets were computed",
    "gateway/kafka/coordinator/target_updates.py": "written: when targets were computed",
    "gateway/kafka/coordinator/group_writer.py": "written: the times of records of groups",
    "gateway/kafka/share_groups/heartbeats.py": "written: when targets were computed",
    "gateway/kafka/share_coordination.py": "compared with times of records: groups may begin in the past",
    "gateway/kafka/share_partitions/table.py": "written: the times of states and of their records",
    "gateway/kafka/coordinator/commits.py": "written: the times of commits, and their expiry after a restart",
    "gateway/kafka/coordinator/coordinator.py": "written: since when a group has its state",
    "gateway/kafka/coordinator/membership.py": "written: since when a group has its state",
    "gateway/kafka/coordinator/rebalance.py": "written: since when a group has its state",
    "gateway/kafka/transactions/coordinator.py": "written: when transactions began; their timeouts go by it",
    "engine/configuration.py": "written: the version of the settings",
    "engine/raft/ledger_log.py": "written: the times of a record",
    "engine/delays.py": "written: the version of a table",
    "engine/filters/consumers.py": "written: since when a filter is used, and since when not",
    "engine/tables/config_table.py": "written: the version of a table",
    "engine/tables/groups.py": "written: the version of a table, with each group of a list",
    "engine/lite/events.py": "shown: when a client popped last",
    "engine/tables/offsets.py": "written: the version of a table",
    "engine/tables/topics.py": "written: the version of a table, with each topic of a list",
    "engine/store/flush.py": "written: names of index files",
    "engine/store/key_query.py": "written: names of index files",
    "engine/store/message_store.py": "shown: when the store was started; written: when a marker was born",
    "engine/store/retention.py": "the hour of the day at which files may go",
    "engine/store/writer.py": "written: store timestamps",
    "engine/testing/crash_disk.py": "written: when a file was changed",
    "engine/topic_compaction.py": "compared with when messages were stored; written: delete horizons",
    "engine/topic_retention.py": "compared with when messages were stored",
    "gateway/tiering/saver.py": "compared with when messages were stored",
    "engine/timers/timers.py": "written: the version of a table",
    "engine/transactions/counts.py": "written: when a count changed",
    "engine/transactions/listing.py": "written: when an op message was born",
    "gateway/web/console.py": "when something was asked and done, charts by time",
    "gateway/access/plain/folder.py": "written: the version of a file of accounts",
    "gateway/access/plain/keeper.py": "shown: the version of a file of accounts that is not there",
    "gateway/broker/clients/table.py": "shown: when a client was last heard of",
    "gateway/broker/replication/replication.py": "shown: when a slave was last heard of",
    "gateway/broker/acting/services.py": "written: the version of a table",
    "gateway/broker/assembly.py": "shown: the day of a count",
    "gateway/broker/controlled/in_sync_keeper.py": "shown: when a controller was asked",
    "gateway/broker/controlled/joining.py": "shown: when a controller was asked; written: in a check code",
    "gateway/broker/controlled/replica.py": "shown: when a controller was asked",
    "gateway/broker/draining.py": "written: the version of a table",
    "gateway/broker/removal.py": "written: the version of a table; compared with a setting",
    "gateway/broker/periodic_work.py": "shown: the day of a count",
    "gateway/broker/operations/gate.py": "written: when messages were born; when a request was admitted",
    "gateway/broker/polling.py": "to be compared with what clients read from theirs",
    "gateway/broker/produce/state.py": "written: unique keys",
    "gateway/broker/produce/send.py": "from which on a timer counts how long it waits for a time of the day",
    "gateway/broker/stats_log.py": "shown: the minute, hour or day that is over",
    "gateway/broker/static_topics/cleaning.py": "the hour of the day at which mapping items may go",
    "gateway/cli/migrate.py": "shown: when a step was taken",
    "gateway/cli/migrate_kafka.py": "shown: when a step was taken",
    "gateway/broker/admin/health.py": "shown: the age of the oldest message that is not saved",
    "gateway/cli/tier_saver.py": "which partial objects of a folder are old",
    "gateway/cli/tier_restore.py": "written: when an epoch began; compared with signs of life of a writer",
    "gateway/cli/tier.py": "written: when an epoch began; which partial objects of a folder are old",
    "gateway/cli/store_backups.py": "written: when a backup was made, and its name",
    "gateway/cli/perf.py": "shown: how long messages took, by the store timestamps of another process",
    "gateway/cli/served_addition.py": "written: when a broker that did not start was taken back",
    "gateway/cli/served_removal.py": "written: when a broker was removed",
    "gateway/cli/services.py": "written: the version of a table",
    "gateway/cli/service_flags.py": "how long ago the system says that the process began",
    "gateway/client/consumer.py": "shown: when a consumer was started; from when on it reads",
    "gateway/client/lite_pull.py": "shown: when a poll began, in its span",
    "gateway/client/pop_consumption.py": "written: when a pop was asked for",
    "gateway/client/producer.py": "written: when messages were born",
    "gateway/client/pull.py": "shown: when a pull began, in its span",
    "gateway/client/simple.py": "shown: when a receive began, in its span",
    "gateway/client/trace.py": "written: trace records",
    "gateway/client/tries.py": "written: when messages were born",
    "gateway/grpc/service/offsets.py": "told: when a message that waits a while is due",
    "gateway/grpc/service/pushes.py": "told: when a message that waits a while is due",
    "gateway/grpc/service/receiving.py": "told: when messages were given out",
    "gateway/grpc/service/telemetry.py": "written: the version of a subscription",
    "gateway/metrics/broker_reading.py": "to be compared with when messages were stored",
    "gateway/metrics/pusher.py": "written: when metrics were counted",
    "gateway/mqadmin/main.py": "shown: ages, and what `now` means; written: when messages were born",
    "gateway/remoting/dispatch.py": "written: when a request came",
    "gateway/broker/older_messages.py": "compared with when files were written",
    "engine/tier/table_saving.py": "written: when tables were saved",
    "engine/tier/continuous.py": "compared with when messages were stored; written: when an epoch began",
    "engine/store/views/producers.py": "compared with when batches were stored",
    "engine/store/views/transactions.py": "compared with when batches and markers were stored",
    "gateway/kafka/call.py": "the time with which the timestamps of a producer are compared",
    "gateway/kafka/api/single_produce.py": "the time with which the timestamps of a producer are compared",
    "gateway/testing/moving.py": "what the wall clock of a test shows",
    "gateway/testing/server.py": "written: when a file was changed",
    "pipeline/jobs/replay.py": "when writers on several machines begin",
    "pipeline/sending.py": "when writers on several machines begin",
    "pipeline/transactions.py": "written: when a transaction ended",
}
DISKS = {"engine/disk.py", "engine/real_disk.py"}
# The disk in memory maps memory of no file.
MEMORY_DISK = "engine/testing/inode.py"
REACTOR_OWNERS = {"gateway/cli/run.py"}
# Reactors of Twisted's go by the wall clock unless they are told otherwise.
REACTOR_MAKERS = {"gateway/cli/run.py", "gateway/client/loop.py"}
REACTOR_MODULES = (
    "twisted.internet.reactor",
    "twisted.internet.epollreactor",
    "twisted.internet.selectreactor",
)
# Timers are set in the packages of connections; other modules have a `Schedule`.
TIMER_PLACES = ("gateway/remoting/", "gateway/runtime/")
TIMER_FILES = {
    "gateway/broker/cluster/registrar.py",
    "gateway/broker/cluster/registration.py",
    "gateway/testing/crashable.py",
}
# The command line reads the files its user names: settings, and store files to print; and keeps notes.
COMMAND_LINE = ("gateway/cli/", "gateway/mqadmin/", "gateway/resources/")


@cache
def calls(path: Path) -> list[tuple[int, str]]:
    """Line and dotted name of every call in a file."""
    return [(node.lineno, ast.unparse(node.func)) for node in nodes(path, ast.Call)]


@cache
def attributes(path: Path) -> list[tuple[int, str]]:
    """Line and dotted name of every name with a dot in a file, called or not."""
    return [(node.lineno, ast.unparse(node)) for node in nodes(path, ast.Attribute)]


def test_time_is_read_through_the_clock() -> None:
    banned = {
        "time.time",
        "time.time_ns",
        "time.monotonic",
        "time.sleep",
        "datetime.now",
        "datetime.datetime.now",
    }
    wrong = [
        f"{path}:{line} {name}"
        for path in source_files()
        if str(path) not in CLOCKS
        for line, name in attributes(path)
        if name in banned
    ]
    assert not wrong


def test_the_wall_clock_is_read_for_what_is_written_or_shown() -> None:
    reads = {
        str(path): [line for line, name in attributes(path) if name.endswith(".millis")]
        for path in source_files()
    }
    assert not {path: lines for path, lines in reads.items() if lines and path not in WALL_TIME}
    idle = {path for path in WALL_TIME.keys() - CLOCKS if not reads.get(path)}
    assert not idle, "named as ones that read the wall clock, which they do not"


def test_reactors_go_by_the_monotonic_clock() -> None:
    wrong = []
    for path in source_files():
        imported = imported_modules(path) | {
            f"{node.module}.{name.name}" for node in nodes(path, ast.ImportFrom) for name in node.names
        }
        if imported.intersection(REACTOR_MODULES):
            monotonic = "use_monotonic_time" in {name for _, name in calls(path)}
            if str(path) not in REACTOR_MAKERS or not monotonic:
                wrong.append(str(path))
    assert not wrong


def test_files_are_reached_through_the_disk() -> None:
    banned = {"open", "os.open", "os.rename", "os.replace", "os.unlink", "os.remove", "io.open", "mmap.mmap"}
    wrong = [
        f"{path}:{line} {name}"
        for path in source_files()
        if str(path) not in DISKS and not str(path).startswith(COMMAND_LINE)
        for line, name in calls(path)
        if name in banned and (str(path), name) != (MEMORY_DISK, "mmap.mmap")
    ]
    assert not wrong


def test_global_reactor_is_imported_in_one_place() -> None:
    wrong = []
    for path in source_files():
        named = any(
            node.module == "twisted.internet" and "reactor" in {name.name for name in node.names}
            for node in nodes(path, ast.ImportFrom)
        )
        if named or "twisted.internet.reactor" in imported_modules(path):
            wrong.append(str(path))
    assert set(wrong) <= REACTOR_OWNERS


def test_timers_are_set_in_one_place() -> None:
    wrong = [
        f"{path}:{line} {name}"
        for path in source_files()
        if not str(path).startswith(TIMER_PLACES) and str(path) not in TIMER_FILES
        for line, name in calls(path)
        if name.endswith((".callLater", "LoopingCall"))
    ]
    assert not wrong
