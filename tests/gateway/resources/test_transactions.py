"""`mqgateway transaction`."""

from __future__ import annotations

from mqgateway.gateway.client.message import Message, ReceivedMessage
from mqgateway.gateway.client.transactions import TransactionProducer, TransactionState
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool


class _Undecided:
    """Listener without a decision for its first message; the others are committed."""

    def __init__(self) -> None:
        self.executed = 0

    def execute(self, message: Message, argument: object) -> TransactionState:
        self.executed += 1
        return TransactionState.UNKNOWN if self.executed == 1 else TransactionState.COMMIT

    def check(self, message: ReceivedMessage) -> TransactionState:
        return TransactionState.UNKNOWN


def test_only_open_transactions_are_listed() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        tool = ResourceTool(cluster)
        assert tool.run("transaction list") == 0
        assert tool.out == "no open transactions\n"
        producer = TransactionProducer("Deciders", cluster.around, _Undecided(), **cluster.settings({}))
        cluster.begin(producer)
        sent = [cluster.run(producer.send_in_transaction(Message("T", str(one)))) for one in range(2)]
        cluster.settle(5.0)
        (row,) = tool.json("transaction list")["rows"]
        assert (row["topic"], row["producerGroup"], row["checks"]) == ("T", "Deciders", 0)
        assert row["msgId"] == sent[0].sent.message_id
        assert tool.json("transaction list Other")["rows"] == []
        assert len(tool.json("transaction list T -c DefaultCluster")["rows"]) == 1


def test_transaction_resume_requests_another_check() -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        line = f"transaction resume {'0' * 32} -b 10.0.0.1:10911"
        assert tool.run(f"{line} --dry-run") == 0
        assert "RESUME_CHECK_HALF_MESSAGE" in tool.out
        assert tool.run(line) != 0
