"""Conversations about transactions: half messages, their ends, and questions, with a clock moved by hand."""

from functools import partial

import pytest

from mqgateway.engine.meters import Meters
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.clients.outgoing_requests import RemotingOutgoing
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.transactions.checks import check_back, is_reachable
from mqgateway.gateway.broker.transactions.ends import Resolution, TransactionEnd, end_transaction
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import EndTransactionRequestHeader, ResumeCheckHalfMessageRequestHeader
from tests.support.gateway.broker.helpers import Answer, FakePeer, MemoryBroker, plain_message, split_records

HALF = "RMQ_SYS_TRANS_HALF_TOPIC"
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0


class Talk(MemoryBroker):
    """A broker with a topic, and producers of one group."""

    def __init__(self, **options: object) -> None:
        super().__init__(options=dict(options), store_options={"message_index_enable": False})
        self.add_topic("T")
        self.join(self.producer)

    def join(self, peer: FakePeer, group: str = "PG") -> None:
        """Register a producer as its heartbeat does."""
        outgoing = RemotingOutgoing(peer, CURRENT_VERSION)
        client = GroupClient(peer, peer.address, "JAVA", CURRENT_VERSION, outgoing)
        self.broker.clients.register_producer(group, client)
        peer.on_lost(self.broker.clients.lost)

    def send_half(self, body: bytes = b"hello", **properties: str) -> Answer:
        """Send a half message as the first step of sendMessageInTransaction."""
        given = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "K1", **properties}
        return self.send("T", body, properties=given, sys_flag=4, queue_id=2, born_timestamp=self.now)

    @property
    def now(self) -> int:
        return self.clock.millis()

    def end(
        self, answer: Answer, outcome: int = COMMIT, *, oneway: bool = False, **changes: object
    ) -> Answer:
        """End the transaction as the last step of sendMessageInTransaction."""
        offset = int(answer.ext["msgId"][-16:], 16)
        fields: dict[str, object] = {
            "producer_group": "PG",
            "tran_state_table_offset": int(answer.ext["queueOffset"]),
            "commit_log_offset": offset,
            "commit_or_rollback": outcome,
            "msg_id": "K1",
            "transaction_id": "K1",
        }
        header = EndTransactionRequestHeader(**fields | changes)
        return self.ask(RequestCode.END_TRANSACTION, header, oneway=oneway)

    def round(self, millis: int = 31_000) -> None:
        """Advance the clock by one round of checks, with a tick each second."""
        broker = self.broker
        for _ in range(0, millis, 1000):
            self.clock.advance(1000)
            due = broker.transactions.tick(self.now, partial(is_reachable, broker.clients))
            check_back(broker, due)
            broker.store.tick()

    def answer(self, question: RemotingCommand, outcome: int, *, peer: FakePeer | None = None) -> Answer:
        """Answer a check as a client does."""
        fields = question.ext_fields
        header = EndTransactionRequestHeader(
            producer_group="PG",
            tran_state_table_offset=int(fields["tranStateTableOffset"]),
            commit_log_offset=int(fields["commitLogOffset"]),
            commit_or_rollback=outcome,
            from_transaction_check=True,
            msg_id=fields["msgId"],
            transaction_id=fields["transactionId"],
        )
        return self.ask(RequestCode.END_TRANSACTION, header, peer=peer)


def test_half_message_is_answered_like_any_other() -> None:
    talk = Talk()
    answer = talk.send_half()
    assert answer.code == 0
    assert answer.ext["queueId"] == "2"
    assert answer.ext["queueOffset"] == "0"
    assert answer.ext["transactionId"] == "K1"
    assert talk.stored("T", 2) == []
    (half,) = talk.stored(HALF)
    assert half.message_id == answer.ext["msgId"]
    assert half.sys_flag & 12 == 0
    assert half.properties["REAL_TOPIC"] == "T"
    assert half.properties["REAL_QID"] == "2"
    assert half.properties["__transactionId__"] == "K1"
    assert talk.broker.transactions.counts.table == {"T": 1}


def test_commit_moves_the_message_to_its_queue() -> None:
    talk = Talk()
    sent = talk.send_half(TAGS="red")
    assert talk.end(sent).code == 0
    (message,) = talk.stored("T", 2)
    assert message.body == b"hello"
    assert message.sys_flag & 12 == 8
    assert message.prepared_transaction_offset == int(sent.ext["msgId"][-16:], 16)
    assert message.properties["TAGS"] == "red"
    assert talk.broker.transactions.counts.table == {"T": 0}


def test_rollback_delivers_nothing() -> None:
    talk = Talk()
    assert talk.end(talk.send_half(), ROLLBACK).code == 0
    talk.round(90_000)
    assert talk.stored("T", 2) == []
    assert talk.producer.sent == []


def test_unknown_outcome_is_not_answered() -> None:
    talk = Talk()
    sent = talk.send_half()
    assert talk.end(sent, UNKNOWN).waits
    talk.round()
    assert len(talk.producer.sent) == 1


def test_reason_for_an_unknown_outcome_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    broker = Talk().broker
    with caplog.at_level("INFO", end_transaction.__module__):
        for remark in (None, "the database did not answer"):
            end_transaction(
                broker, TransactionEnd(Resolution.UNKNOWN, "PG", 0, 0, False, "K1", remark), 0, None
            )
    logged = [record.getMessage() for record in caplog.records if record.name == end_transaction.__module__]
    assert logged == ["transaction K1 stays open: the database did not answer"]


def test_commits_and_rollbacks_are_counted_by_topic() -> None:
    talk = Talk()
    meters = talk.broker.stats.meters = Meters(10)
    for outcome in (COMMIT, COMMIT, ROLLBACK, UNKNOWN):
        talk.end(talk.send_half(), outcome)
    assert (meters.commits.table, meters.rollbacks.table) == ({("T",): 2}, {("T",): 1})
    assert sum(meters.finish_latency.table["T",].counts) == 2


def test_a_client_sends_ends_one_way() -> None:
    talk = Talk()
    assert talk.end(talk.send_half(), oneway=True).waits
    assert len(talk.stored("T", 2)) == 1


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"producer_group": "other"}, "The producer group wrong"),
        ({"tran_state_table_offset": 9}, "The transaction state table offset wrong"),
        ({"commit_log_offset": 1}, "Find prepared transaction message failed"),
        ({"commit_log_offset": -1}, "Find prepared transaction message failed"),
        ({"commit_log_offset": 1 << 50}, "Find prepared transaction message failed"),
    ],
)
@pytest.mark.parametrize("outcome", [COMMIT, ROLLBACK])
def test_an_end_that_names_another_message_is_refused(
    changes: dict[str, object], remark: str, outcome: int
) -> None:
    talk = Talk()
    answer = talk.end(talk.send_half(), outcome, **changes)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert talk.stored("T", 2) == []


@pytest.mark.parametrize("outcome", [-1, 4, 1000])
def test_invalid_end_is_refused(outcome: int) -> None:
    talk = Talk()
    answer = talk.end(talk.send_half(), outcome)
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "commitOrRollback field wrong")


def test_an_ordinary_message_cannot_be_committed() -> None:
    talk = Talk()
    sent = talk.send("T", properties={"PGROUP": "PG", "UNIQ_KEY": "K"})
    assert talk.end(sent).remark == "Find prepared transaction message failed"


def test_commit_after_the_immunity_time_has_to_wait_for_the_check() -> None:
    talk = Talk()
    sent = talk.send_half(CHECK_IMMUNITY_TIME_IN_SECONDS="20")
    talk.clock.advance(20_001)
    assert talk.end(sent).code == ResponseCode.ILLEGAL_OPERATION
    talk.round()
    (question,) = talk.producer.sent
    assert talk.answer(question, COMMIT).code == 0
    assert len(talk.stored("T", 2)) == 1


def test_check_is_readable_by_a_client() -> None:
    talk = Talk()
    talk.send_half()
    talk.round()
    (question,) = talk.producer.sent
    copy = talk.stored(HALF)[1]
    assert question.code == RequestCode.CHECK_TRANSACTION_STATE
    assert question.flag & 2, "one-way"
    assert question.ext_fields == {
        "topic": HALF,
        "tranStateTableOffset": str(copy.queue_offset),
        "commitLogOffset": str(copy.physical_offset),
        "msgId": "K1",
        "transactionId": "K1",
        "offsetMsgId": copy.message_id,
        "bname": "broker-a",
    }
    (message,) = split_records(question.body)
    assert (message.topic, message.queue_id, message.body) == ("T", 2, b"hello")
    assert message.properties["PGROUP"] == "PG"
    assert message.properties["TRANSACTION_CHECK_TIMES"] == "1"


def test_answer_to_a_check_ends_the_transaction() -> None:
    talk = Talk()
    talk.send_half(b"a")
    talk.send_half(b"b")
    talk.round()
    first, second = talk.producer.sent
    assert talk.answer(first, COMMIT).code == 0
    assert talk.answer(second, ROLLBACK).code == 0
    talk.round(120_000)
    assert len(talk.producer.sent) == 2
    assert [each.body for each in talk.stored("T", 2)] == [b"a"]


def test_members_of_a_group_are_queried_in_turn() -> None:
    talk = Talk()
    other = FakePeer("10.0.0.3:4003")
    talk.join(other)
    for number in range(6):
        talk.send_half(b"%d" % number)
    talk.round()
    assert len(talk.producer.sent) == len(other.sent) == 3


def test_other_member_answers_for_a_lost_sender() -> None:
    talk = Talk()
    other = FakePeer("10.0.0.3:4003")
    talk.send_half()
    talk.producer.lose()
    talk.join(other)
    talk.round()
    (question,) = other.sent
    assert talk.answer(question, COMMIT, peer=other).code == 0
    assert len(talk.stored("T", 2)) == 1


def test_late_group_is_still_checked() -> None:
    talk = Talk(transaction_check_max=2)
    talk.send_half()
    talk.producer.lose()
    talk.round(600_000)
    assert talk.stored("TRANS_CHECK_MAX_TIME_TOPIC") == []
    back = FakePeer("10.0.0.1:4444")
    talk.join(back)
    talk.round()
    (question,) = back.sent
    assert talk.answer(question, COMMIT, peer=back).code == 0
    assert len(talk.stored("T", 2)) == 1


def test_check_without_members_is_dropped() -> None:
    talk = Talk()
    talk.send_half()
    talk.clock.advance(31_000)
    questions = talk.broker.transactions.tick(talk.now, lambda group, topic: True)
    talk.producer.lose()
    check_back(talk.broker, questions)
    assert talk.producer.sent == []


def test_unanswered_checks_end() -> None:
    talk = Talk(transaction_check_max=2, transaction_check_interval=10_000)
    talk.send_half()
    talk.round(60_000)
    assert len(talk.producer.sent) == 2
    (kept,) = talk.stored("TRANS_CHECK_MAX_TIME_TOPIC")
    assert kept.body == b"hello"
    answer = talk.ask(
        RequestCode.RESUME_CHECK_HALF_MESSAGE, ResumeCheckHalfMessageRequestHeader(msg_id=kept.message_id)
    )
    assert (answer.code, answer.remark) == (0, None)
    talk.round(12_000)
    assert len(talk.producer.sent) == 3
    assert talk.answer(talk.producer.sent[-1], COMMIT).code == 0
    assert len(talk.stored("T", 2)) == 1


@pytest.mark.parametrize("message_id", [None, "", "zz", "x" * 32, "0" * 32, "7F00000100002A9F" + "F" * 16])
def test_check_of_a_missing_message_is_not_resumed(message_id: str | None) -> None:
    talk = Talk()
    header = ResumeCheckHalfMessageRequestHeader(msg_id=message_id)
    answer = talk.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == f"Exception was thrown when putting message back to {HALF}."


def test_check_of_a_plain_message_is_not_resumed() -> None:
    talk = Talk()
    sent = talk.send("T")
    header = ResumeCheckHalfMessageRequestHeader(msg_id=sent.ext["msgId"])
    answer = talk.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)
    assert (answer.code, answer.remark) == (1, f"Put message back to {HALF} failed.")


def test_a_delay_begins_with_the_commit() -> None:
    talk = Talk()
    sent = talk.send_half(DELAY="1")
    talk.wait(5000)
    assert len(talk.stored(HALF)) == 1
    assert talk.end(sent).code == 0
    assert talk.stored("T", 2) == []
    talk.wait(1000)
    talk.wait(100)
    assert [each.body for each in talk.stored("T", 2)] == [b"hello"]


def test_a_commit_that_cannot_be_delivered_is_illegal() -> None:
    talk = Talk()
    sent = talk.send_half(DELAY="much")
    assert talk.end(sent).code == ResponseCode.MESSAGE_ILLEGAL
    message = plain_message(HALF, TRAN_MSG="true", PGROUP="PG", REAL_TOPIC="T", REAL_QID="x")
    result = talk.broker.store.put(message)
    talk.broker.store.dispatch()
    answer = talk.end(
        sent, tran_state_table_offset=result.queue_offset, commit_log_offset=result.physical_offset
    )
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL


def test_closed_store_refuses_ends() -> None:
    talk = Talk()
    sent = talk.send_half()
    talk.broker.store.stop()
    for outcome in (COMMIT, ROLLBACK):
        answer = talk.end(sent, outcome)
        assert (answer.code, answer.remark) == (
            ResponseCode.SERVICE_NOT_AVAILABLE,
            "Service not available now.",
        )


def test_broker_can_refuse_transactions() -> None:
    talk = Talk(reject_transaction_message=True)
    answer = talk.send_half()
    assert answer.code == ResponseCode.NO_PERMISSION
    assert answer.remark == "the broker[127.0.0.1] sending transaction message is forbidden"


def test_message_sent_back_by_an_old_client_is_not_a_half_message() -> None:
    """Before 4.6.1 the property stayed in messages that consumers send back."""
    talk = Talk()
    properties = {"TRAN_MSG": "true", "UNIQ_KEY": "K", "DELAY": "3"}
    talk.send("T", properties=properties, reconsume_times=1)
    talk.send("T", properties={"TRAN_MSG": "false", "UNIQ_KEY": "K"})
    assert talk.stored(HALF) == []


def test_clients_cannot_send_to_half_topics() -> None:
    talk = Talk()
    for topic in (HALF, "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"):
        assert talk.send(topic).code == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize("resolution", [Resolution.COMMIT, Resolution.ROLLBACK, Resolution.UNKNOWN])
def test_end_by_operation(resolution: Resolution) -> None:
    talk = Talk()
    sent = talk.send_half()
    offset = int(sent.ext["msgId"][-16:], 16)
    end = TransactionEnd(resolution, "PG", int(sent.ext["queueOffset"]), offset, False, "K1", None)
    end_transaction(talk.broker, end, talk.now, None)
    talk.broker.store.dispatch()
    assert len(talk.stored("T", 2)) == (resolution is Resolution.COMMIT)
    is_open = resolution is Resolution.UNKNOWN
    assert talk.broker.transactions.counts.table == {"T": int(is_open)}


def test_an_end_of_another_group_has_a_reason() -> None:
    talk = Talk()
    offset = int(talk.send_half().ext["msgId"][-16:], 16)
    end = TransactionEnd(Resolution.COMMIT, "another", 0, offset, False, "K1", None)
    with pytest.raises(OperationError) as caught:
        end_transaction(talk.broker, end, talk.now, None)
    assert (caught.value.reason, caught.value.message) == (Reason.SYSTEM_ERROR, "The producer group wrong")
