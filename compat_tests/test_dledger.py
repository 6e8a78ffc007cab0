"""DLedger groups of two official brokers and a member of ours.

Ours votes, hands leadership over when it has it, and follows; its data and index files are the same bytes
as the brokers'.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, ROOT, Part, apache_broker, apache_namesrv
from mqgateway import ClientError, Message, Producer
from mqgateway.gateway.raft.wire import RaftCode

GROUP = "broker-a"
FILE_SIZE = 1 << 20
SECONDS = 60


class DLedgerGroup:
    """n0 and n1 are Apache's brokers, n2 is ours."""

    def __init__(self, work: Path) -> None:
        self.folder = work / "dledger"
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self.addresses = {one: f"{HOST}:{free_ports()}" for one in ("n0", "n1", "n2")}
        peers = ";".join(f"{one}-{address}" for one, address in self.addresses.items())
        self.namesrv = apache_namesrv(self.folder / "namesrv", port)
        self.parts: dict[str, Part] = {}
        for one in ("n0", "n1"):
            settings = {
                "enableDLegerCommitLog": "true",
                "dLegerGroup": GROUP,
                "dLegerPeers": peers,
                "dLegerSelfId": one,
                "mappedFileSizeCommitLog": str(FILE_SIZE),
                "brokerName": GROUP,
            }
            port = free_ports((-2, 0, 1))
            self.parts[one] = apache_broker(self.folder / one, port, self.namesrv_address, settings)
        ours = self.folder / "n2"
        ours.mkdir(parents=True)
        command = [sys.executable, "-m", "compat_tests.support.raft_member"]
        command += [GROUP, peers, "n2", str(ours / "store"), str(FILE_SIZE)]
        env = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
        self.parts["n2"] = Part(command, ours / "member.log", "ready", [self.addresses["n2"]], env)

    def ask(self, one: str, code: RaftCode, **members: Any) -> dict[str, Any]:
        """What a member answers."""
        body = {"group": GROUP, "localId": "test", "remoteId": one, "code": 200, "term": -1, **members}
        with RawConnection(self.addresses[one]) as connection:
            answer = connection.ask(code, body=json.dumps(body).encode())
        assert answer is not None
        assert answer.code == 200
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def leader(self, one: str) -> str:
        """Whom a member takes for the leader; "" when it does not answer, or does not know."""
        try:
            return str(self.ask(one, RaftCode.METADATA).get("leaderId") or "")
        except OSError:
            return ""

    def wait_for_leader(self, *ids: str) -> str:
        """Wait until these agree on one of them as the leader; gives who."""

        def agree() -> bool:
            leaders = {self.leader(one) for one in ids}
            return len(leaders) == 1 and leaders <= set(ids)

        wait_until(agree, SECONDS, f"{ids} agree on a leader")
        return self.leader(ids[0])

    def hand_over(self, leader: str, to: str, *ids: str) -> None:
        """Have another one lead."""
        if leader == to:
            return

        def is_done() -> bool:
            term = self.term(ids[0])
            members = {"term": term, "transferId": leader, "transfereeId": to}
            self.ask(leader, RaftCode.LEADERSHIP_TRANSFER, **members)
            return self.wait_for_leader(*ids) == to

        wait_until(is_done, SECONDS, f"{to} leads")

    def term(self, one: str) -> int:
        """The term that a member has on its disk."""
        text = (self.store(one) / "currterm").read_text()
        return int(text.split("currTerm=")[1].split()[0])

    def store(self, one: str) -> Path:
        """The folder of a member's log."""
        return self.folder / "n2/store" if one == "n2" else self.folder / one / "store" / f"dledger-{one}"

    def bytes_of(self, one: str, what: str) -> bytes:
        """All files of a member, one behind the other, to the last byte that is not zero."""
        found = []
        for path in sorted((self.store(one) / what).iterdir()):
            with path.open("rb") as file:
                found.append(file.read(FILE_SIZE))  # of the index this is far enough
        return b"".join(found).rstrip(b"\0")

    def wait_until_same(self, first: str, *others: str) -> None:
        """Wait until the logs are the same bytes."""
        for what in ("data", "index"):
            for other in others:
                wait_until(
                    lambda what=what, other=other: self.bytes_of(first, what) == self.bytes_of(other, what),  # type: ignore[misc]
                    SECONDS,
                    f"the {what} of {first} and {other} are the same bytes",
                )


@pytest.fixture
def group(work: Path) -> Iterator[DLedgerGroup]:
    group = DLedgerGroup(work)
    try:
        group.namesrv.start()
        # Ours first: a broker is up only when it knows its role.
        group.parts["n2"].start()
        for one in ("n0", "n1"):
            group.parts[one].start()
        yield group
    finally:
        for part in [*group.parts.values(), group.namesrv]:
            part.kill9()


def send(producer: Producer, text: str, count: int) -> None:
    """Send messages, each until it is taken."""
    end = time.monotonic() + SECONDS
    for number in range(count):
        while True:
            try:
                producer.send(Message("TopicTest", f"{text} {number}" + "x" * (number * 97 % 9000)))
                break
            except ClientError:
                assert time.monotonic() < end
                time.sleep(0.5)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_member_of_ours_votes_hands_over_and_follows(group: DLedgerGroup) -> None:
    leader = group.wait_for_leader("n0", "n1", "n2")
    group.hand_over(leader, "n0", "n0", "n1", "n2")
    with Producer("producers", group.namesrv_address) as producer:
        send(producer, "all there", 400)
        group.wait_until_same("n0", "n1", "n2")
