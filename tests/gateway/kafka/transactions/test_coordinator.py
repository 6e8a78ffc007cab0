"""The coordinator of transactions: requests, restarts, time-outs, limits, and histories of all of these."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.transactions.rules import TxnRefused
from mqgateway.gateway.kafka.transactions.settings import DAY, MINUTE, TxnSettings
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch, TopicPartition, TxnState
from tests.support.gateway.kafka.txn_coordinator import TxnScene, places

A, B, C = places("a", range(3))


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", [0, 2])
def test_transaction_ends_with_a_marker_in_each_partition(commit: bool, version: int) -> None:
    scene = TxnScene()
    producer = scene.begun()
    assert scene.add(producer, A, version=version) == [None]
    assert scene.add(producer, B, version=version) == [None]
    assert scene.state() is TxnState.ONGOING
    marker = ProducerEpoch(producer.producer_id, producer.epoch + (version == 2))
    assert scene.end(producer, commit, version=version) == [marker]
    assert scene.markers.of(A) == scene.markers.of(B) == [(marker, commit)]
    assert scene.state() is (TxnState.COMPLETE_COMMIT if commit else TxnState.COMPLETE_ABORT)
    assert scene.end(producer, commit, version=version) == [marker]
    assert scene.add(marker, C, version=version) == [None]


def test_request_while_a_record_is_on_its_way_is_to_be_repeated() -> None:
    scene = TxnScene()
    scene.log.held = []
    first, second = scene.init(), scene.init()
    assert (first, second) == ([], [E.CONCURRENT_TRANSACTIONS])
    scene.log.resume()
    [producer] = first
    assert isinstance(producer, ProducerEpoch)
    adding = scene.add(producer, A)
    assert adding == [] and scene.end(producer) == [E.CONCURRENT_TRANSACTIONS]
    assert scene.init() == [E.CONCURRENT_TRANSACTIONS]
    scene.log.resume()
    ending = scene.end(producer)
    assert scene.add(producer, B) == scene.init() == scene.end(producer) == [E.CONCURRENT_TRANSACTIONS]
    scene.log.resume()
    assert ending == [ProducerEpoch(producer.producer_id, producer.epoch + 1)]


def test_partitions_that_come_together_are_written_together() -> None:
    scene = TxnScene()
    producer = scene.begun()
    scene.log.held = []
    records = len(scene.log.records)
    other = ProducerEpoch(producer.producer_id, 9)
    outcomes = [
        scene.add(producer, A),
        scene.add(producer, B),
        scene.add(producer, C, A),
        scene.add(other, A),
    ]
    assert outcomes == [[], [], [], []]
    scene.log.resume()
    assert outcomes == [[None], [None], [None], [E.PRODUCER_FENCED]]
    assert len(scene.log.records) == records + 2
    entry = scene.coordinator.table.get("t")
    assert entry is not None and entry.status is not None and entry.status.partitions == {A, B, C}


def test_partitions_of_the_next_transaction_wait_until_the_last_one_is_complete() -> None:
    scene = TxnScene()
    producer = scene.begun()
    scene.add(producer, A)
    scene.markers.broken = {A}
    [after] = scene.end(producer)
    assert isinstance(after, ProducerEpoch)
    waiting = [scene.add(after, B, version=2), scene.add(producer, C)]
    assert waiting == [[], []]
    scene.markers.broken = set()
    scene.pass_time(100, 100)
    assert waiting == [[None], [E.PRODUCER_FENCED]]
    assert scene.state() is TxnState.ONGOING
    assert scene.end(after) == [ProducerEpoch(after.producer_id, after.epoch + 1)]


def test_partitions_do_not_wait_for_long_and_not_for_another_master() -> None:
    scene = TxnScene()
    producer = scene.begun()
    scene.add(producer, A)
    scene.markers.broken = {A}
    [after] = scene.end(producer)
    assert isinstance(after, ProducerEpoch)
    waiting = scene.add(after, B)
    scene.pass_time(50, 50)
    later = scene.add(after, C)
    assert (waiting, later) == ([], [])
    scene.pass_time(50, 50)
    assert (waiting, later) == ([E.CONCURRENT_TRANSACTIONS], [])
    scene.coordinator.unload()
    assert later == [E.NOT_COORDINATOR]


@pytest.mark.parametrize("keeps", [True, False])
def test_refused_record_changes_nothing_and_the_request_may_be_repeated(keeps: bool) -> None:
    scene = TxnScene()
    scene.log.refused = NotWritten(E.COORDINATOR_NOT_AVAILABLE, "full")
    scene.log.keeps_refused = keeps
    assert scene.init() == [E.COORDINATOR_NOT_AVAILABLE] and scene.state() is None
    scene.log.refused = None
    producer = scene.begun()
    scene.add(producer, A)
    scene.log.refused = NotWritten(E.COORDINATOR_NOT_AVAILABLE, "full")
    assert scene.add(producer, B) == scene.end(producer) == [E.COORDINATOR_NOT_AVAILABLE]
    assert not scene.markers.written and scene.state() is TxnState.ONGOING
    scene.log.refused = None
    assert scene.end(producer, False) == [ProducerEpoch(producer.producer_id, 1)]
    assert scene.markers.of(A) == [(ProducerEpoch(producer.producer_id, 1), False)]
    assert scene.restarted().state() is TxnState.COMPLETE_ABORT


def test_new_client_aborts_the_open_transaction_of_the_earlier_one() -> None:
    scene = TxnScene()
    old = scene.begun()
    scene.add(old, A)
    assert scene.init() == [E.CONCURRENT_TRANSACTIONS]
    assert scene.markers.of(A) == [(ProducerEpoch(old.producer_id, 1), False)]
    new = scene.begun()
    assert new == (old.producer_id, 2)
    assert scene.add(old, A) == scene.end(old, version=0) == [E.PRODUCER_FENCED]
    assert scene.init(expected=old) == [E.PRODUCER_FENCED]


def test_unknown_ids_and_bad_requests_are_refused() -> None:
    scene = TxnScene(TxnSettings(id_bytes_max=4))
    producer = ProducerEpoch(1, 0)
    assert scene.add(producer, A) == scene.end(producer) == [E.INVALID_PRODUCER_ID_MAPPING]
    assert scene.add(producer, A, name="") == scene.end(producer, name="") == [E.INVALID_REQUEST]
    assert scene.init("") == scene.init("äää") == [E.INVALID_REQUEST]
    for timeout in (0, -1, 15 * MINUTE + 1):
        assert scene.init(timeout=timeout) == [E.INVALID_TRANSACTION_TIMEOUT]
    with pytest.raises(TxnRefused):
        scene.coordinator.check_member("t", producer, A)


def test_limits_are_answered_with_an_error() -> None:
    scene = TxnScene(TxnSettings(ids_max=1, partitions_max=2))
    producer = scene.begun()
    assert scene.init("u") == [E.COORDINATOR_NOT_AVAILABLE]
    assert scene.add(producer, A, B, C) == [E.POLICY_VIOLATION]
    assert scene.add(producer, A, B) == [None]
    assert scene.add(producer, C) == [E.POLICY_VIOLATION]
    other = TxnScene()
    long = [TopicPartition(f"{number:04}".rjust(200, "x"), 0) for number in range(6000)]
    assert other.add(other.begun(), *long) == [E.POLICY_VIOLATION]
    assert other.state() is TxnState.EMPTY


def test_transaction_that_is_open_for_too_long_is_aborted_and_its_producer_fenced() -> None:
    scene = TxnScene()
    producer = scene.begun(timeout=30_000)
    scene.add(producer, A)
    scene.pass_time(30_000)
    assert scene.state() is TxnState.ONGOING
    scene.pass_time(11_000)
    assert scene.state() is TxnState.COMPLETE_ABORT
    assert scene.markers.of(A) == [(ProducerEpoch(producer.producer_id, 1), False)]
    assert scene.end(producer, version=0) == scene.add(producer, A) == [E.PRODUCER_FENCED]


def test_timeout_counts_from_the_begin_also_over_a_restart() -> None:
    scene = TxnScene()
    scene.add(scene.begun(timeout=30_000), A)
    scene.pass_time(25_000)
    scene = scene.restarted()
    scene.pass_time(11_000)
    assert scene.state() is TxnState.COMPLETE_ABORT


@pytest.mark.parametrize("commit", [True, False])
def test_prepared_transaction_is_completed_after_a_restart(commit: bool) -> None:
    scene = TxnScene()
    producer = scene.begun()
    scene.add(producer, A, B)
    scene.markers.broken = {B}
    [ended] = scene.end(producer, commit)
    scene = scene.restarted()
    assert scene.state() is (TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT)
    assert scene.init() == [E.CONCURRENT_TRANSACTIONS]
    scene.markers.broken = set()
    scene.pass_time(1000)
    assert scene.state() is (TxnState.COMPLETE_COMMIT if commit else TxnState.COMPLETE_ABORT)
    assert set(scene.markers.of(A)) == set(scene.markers.of(B)) == {(ended, commit)}


def test_ids_are_forgotten_seven_days_after_their_last_use() -> None:
    scene = TxnScene()
    scene.begun("old")
    scene.add(scene.begun("open"), A, name="open")
    scene.pass_time(4 * DAY, 60 * MINUTE)
    scene.begun("new")
    scene.pass_time(4 * DAY, 60 * MINUTE)
    assert (scene.state("old"), scene.state("new")) == (None, TxnState.EMPTY)
    assert scene.markers.written and scene.state("open") is None
    scene = scene.restarted()
    assert (scene.state("old"), scene.state("new")) == (None, TxnState.EMPTY)


def test_id_whose_end_is_not_recorded_stays() -> None:
    scene = TxnScene()
    scene.begun()
    scene.log.refused = NotWritten(E.COORDINATOR_NOT_AVAILABLE, "full")
    scene.pass_time(8 * DAY, 60 * MINUTE)
    assert scene.state() is TxnState.EMPTY
    scene.log.refused = None
    scene.begun()


def test_broker_that_is_no_master_any_more_answers_so() -> None:
    scene = TxnScene()
    producer = scene.begun()
    scene.log.held = []
    adding, waiting = scene.add(producer, A), scene.add(producer, B)
    scene.coordinator.unload()
    assert (adding, waiting) == ([E.NOT_COORDINATOR], [E.COORDINATOR_LOAD_IN_PROGRESS])
    assert scene.add(producer, A) == scene.init() == [E.COORDINATOR_LOAD_IN_PROGRESS]
    scene.coordinator.tick()
    for _ in scene.coordinator.load():
        pass
    assert scene.state() is TxnState.ONGOING


def test_malformed_record_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    scene = TxnScene()
    scene.begun()
    [record] = scene.log.records
    scene.log.records += [record._replace(value=b"\0"), record._replace(key=b"\0\7"), record]
    assert scene.restarted().state() is TxnState.EMPTY
    assert "is skipped" in caplog.text


@dataclass
class Client:
    """Knowledge of a client of an id. `sent` are the partitions of its transaction."""

    producer: ProducerEpoch
    version: int
    sent: set[TopicPartition] = field(default_factory=set)


class Histories(RuleBasedStateMachine):
    """Clients of two ids, restarts, refused records and time.

    Each transaction whose end was answered has its markers, and its partitions have no other one of the same
    epoch; no answer has a producer that an earlier client has.
    """

    NAMES = ("t", "u")
    PLACES = (A, B, C)

    def __init__(self) -> None:
        super().__init__()
        self.scene = TxnScene()
        self.clients: dict[str, Client] = {}
        self.given: set[tuple[str, ProducerEpoch]] = set()
        self.ended: list[tuple[frozenset[TopicPartition], ProducerEpoch, bool]] = []

    @rule(name=st.sampled_from(NAMES), version=st.sampled_from((0, 2)))
    def start(self, name: str, version: int) -> None:
        """Begin with a new client."""
        outcome = self.scene.init(name)
        if outcome and isinstance(outcome[0], ProducerEpoch):
            assert (name, outcome[0]) not in self.given
            self.given.add((name, outcome[0]))
            self.clients[name] = Client(outcome[0], version)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), place=st.sampled_from(PLACES))
    def add(self, data: st.DataObject, place: TopicPartition) -> None:
        """Add a partition."""
        name = data.draw(st.sampled_from(sorted(self.clients)))
        client = self.clients[name]
        outcome = self.scene.add(client.producer, place, name=name, version=client.version)
        if outcome == [None]:
            client.sent.add(place)
        elif outcome == [E.PRODUCER_FENCED]:
            del self.clients[name]

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), commit=st.booleans())
    def end(self, data: st.DataObject, commit: bool) -> None:
        """End a transaction, and ask again as a client does that has no answer."""
        name = data.draw(st.sampled_from(sorted(self.clients)))
        client = self.clients[name]
        outcome = self.scene.end(client.producer, commit, name=name, version=client.version)
        if not outcome or not isinstance(outcome[0], ProducerEpoch):
            if outcome == [E.PRODUCER_FENCED]:
                del self.clients[name]
            return
        marker = ProducerEpoch(client.producer.producer_id, client.producer.epoch + (client.version == 2))
        self.ended.append((frozenset(client.sent), marker, commit))
        again = self.scene.end(client.producer, commit, name=name, version=client.version)
        assert again in ([outcome[0]], [E.CONCURRENT_TRANSACTIONS]) or client.version == 0
        client.producer, client.sent = outcome[0], set()
        self.given.add((name, outcome[0]))

    @rule(broken=st.sets(st.sampled_from(PLACES)))
    def damage(self, broken: set[TopicPartition]) -> None:
        """Make partitions refuse their markers, or accept them again."""
        self.scene.markers.broken = broken

    @rule(keeps=st.booleans())
    def refuse(self, keeps: bool) -> None:
        """Make the log refuse records."""
        self.scene.log.refused = NotWritten(E.COORDINATOR_NOT_AVAILABLE, "full")
        self.scene.log.keeps_refused = keeps

    @rule()
    def accept(self) -> None:
        """Make the log accept records again."""
        self.scene.log.refused = None

    @rule()
    def restart(self) -> None:
        """Restart the broker."""
        self.scene = self.scene.restarted()

    @rule(seconds=st.sampled_from((1, 70)))
    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.scene.pass_time(seconds * 1000, 10_000 if seconds > 10 else 1000)

    @invariant()
    def answered_ends_are_those_of_the_markers(self) -> None:
        """Check that no partition has a marker of an ended transaction that says something else."""
        for sent, producer, commit in self.ended:
            for place in sent:
                markers = self.scene.markers.of(place)
                outcomes = {is_commit for known, is_commit in markers if known == producer}
                assert commit in outcomes or not outcomes
                if producer.epoch and (producer, commit) in self.unique:
                    assert outcomes <= {commit}

    @property
    def unique(self) -> set[tuple[ProducerEpoch, bool]]:
        """The ends whose epoch has one transaction only."""
        counted = [producer for _, producer, _ in self.ended]
        return {(producer, commit) for _, producer, commit in self.ended if counted.count(producer) == 1}

    def teardown(self) -> None:
        """Repair everything: then every transaction that was ended has all its markers."""
        self.scene.markers.broken = set()
        self.scene.log.refused = None
        self.scene = self.scene.restarted()
        self.scene.pass_time(80_000, 1000)
        for sent, producer, commit in self.ended:
            for place in sent:
                assert (producer, commit) in self.scene.markers.of(place)
        table = self.scene.coordinator.table
        assert not table.open and not table.prepared
        assert not any(entry.is_busy for entry in table)


TestHistories = Histories.TestCase
TestHistories.settings = hypothesis_settings(
    hypothesis_settings(), max_examples=60, stateful_step_count=30, deadline=None
)
