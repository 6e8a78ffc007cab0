"""A producer of transactions to a group's leader: half messages, ends, and answers to checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.message import parse_offset_message_id
from mqgateway.gateway.codec.bodies.heartbeat import HeartbeatData, ProducerData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
)
from tests.support.gateway.broker.group import Member
from tests.support.gateway.broker.helpers import send_header
from tests.support.gateway.remoting.pair import Talker

COMMIT, ROLLBACK, PREPARED = 8, 12, 4
GROUP = "P"
ANSWER_SECONDS = 0.3


class Half(NamedTuple):
    """Offsets of a half message, in its queue and in the log."""

    queue_offset: int
    physical_offset: int


class Transactions:
    """The transactions of one producer with the member that `leader` returns.

    `open` are the accepted half messages without an accepted end. Those without an end are resolved when the
    broker checks them: committed if their number is even, rolled back otherwise.
    """

    def __init__(self, leader: Callable[[], Member]) -> None:
        self._leader = leader
        self._talker: Talker | None = None
        self._port = 0
        self.open: dict[bytes, Half] = {}
        self.tried: set[bytes] = set()
        self.committed: set[bytes] = set()
        self.rolled_back: set[bytes] = set()
        self._decided: dict[bytes, int] = {}

    def begin(self) -> None:
        """Send a half message."""
        self._connect()
        body = b"t%d" % len(self.tried)
        self.tried.add(body)
        properties = {"UNIQ_KEY": body.decode(), "TRAN_MSG": "true", "PGROUP": GROUP}
        header = send_header("T", properties=properties, queue_id=0, sys_flag=PREPARED, producer_group=GROUP)
        answer = self._leader().ask(RequestCode.SEND_MESSAGE_V2, header, body, ANSWER_SECONDS)
        if answer is not None and answer.code == 0:
            place = parse_offset_message_id(answer.ext_fields["msgId"])[2]
            self.open[body] = Half(int(answer.ext_fields["queueOffset"]), place)

    def end(self, commits: bool) -> None:
        """Commit or roll back the oldest transaction without a resolution, which never changes later."""
        body = next((body for body in self.open if body not in self._decided), None)
        if body is not None:
            self._decided[body] = COMMIT if commits else ROLLBACK
            self._end(body, self.open[body], is_answer=False)

    def _end(self, body: bytes, half: Half, *, is_answer: bool) -> None:
        said = self._decided[body]
        header = EndTransactionRequestHeader(
            producer_group=GROUP,
            tran_state_table_offset=half.queue_offset,
            commit_log_offset=half.physical_offset,
            commit_or_rollback=said,
            from_transaction_check=is_answer,
            msg_id=body.decode(),
            transaction_id=body.decode(),
        )
        answer = self._leader().ask(RequestCode.END_TRANSACTION, header, seconds=ANSWER_SECONDS)
        if answer is not None and answer.code == 0:
            self.open.pop(body, None)
            (self.committed if said == COMMIT else self.rolled_back).add(body)

    def answer_checks(self) -> None:
        """Answer the leader's checks since the last call, except those of ended transactions."""
        self._connect()
        assert self._talker is not None
        for command in self._talker.take():
            if command.code != RequestCode.CHECK_TRANSACTION_STATE:
                continue
            asked = CheckTransactionStateRequestHeader.decode(command.ext_fields)
            body = (asked.transaction_id or "").encode()
            if body not in self.committed | self.rolled_back:
                self._decided.setdefault(body, ROLLBACK if int(body[1:]) % 2 else COMMIT)
                half = Half(asked.tran_state_table_offset, asked.commit_log_offset)
                self._end(body, half, is_answer=True)

    def _connect(self) -> None:
        leader = self._leader()
        if self._talker is None or self._talker.lost is not None or self._port != leader.port:
            self._talker, self._port = Talker(), leader.port
            leader.group.net.meet(leader.port, self._talker, ("192.168.1.2", leader.group.next_port()))
        heartbeat = HeartbeatData(client_id="producer", producer_data_set=[ProducerData(GROUP)])
        command = RemotingCommand.request(RequestCode.HEART_BEAT, None, heartbeat.encode())
        self._talker.transport.write(encode_command(command))
        leader.group.net.settle()
