"""What producers say of transactions as resolutions, and checks as commands; see `test_ends` for the rest."""

from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.transactions.ends import Resolution
from mqgateway.gateway.broker.transactions.requests import RESOLUTIONS, send_check
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.headers import CheckTransactionStateRequestHeader
from tests.support.gateway.broker.helpers import MemoryBroker


def test_the_standards_numbers_of_resolutions() -> None:
    assert RESOLUTIONS == {0: Resolution.UNKNOWN, 8: Resolution.COMMIT, 12: Resolution.ROLLBACK}


def test_a_check_names_the_half_message() -> None:
    memory = MemoryBroker()
    client = Client(memory.producer, "producer", "JAVA", CURRENT_VERSION)
    send_check(memory.broker, client, CheckBack(0, "PG", 7, 1234, "K1", "ID", b"record"))
    (command,) = memory.producer.sent
    header = CheckTransactionStateRequestHeader.decode(command.ext_fields)
    assert (command.code, command.body) == (RequestCode.CHECK_TRANSACTION_STATE, b"record")
    assert (header.tran_state_table_offset, header.commit_log_offset) == (7, 1234)
    assert (header.msg_id, header.transaction_id, header.offset_msg_id) == ("K1", "K1", "ID")
    assert (header.topic, header.bname) == ("RMQ_SYS_TRANS_HALF_TOPIC", "broker-a")
