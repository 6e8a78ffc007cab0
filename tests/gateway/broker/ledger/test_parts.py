"""A broker in a group has other parts than one that is in none, and the modules are loaded by it alone."""

from __future__ import annotations

import subprocess
import sys

from mqgateway.engine.raft.ledger_log import LedgerLog
from mqgateway.engine.raft.quorum_replicas import QuorumReplicas
from tests.support.gateway.broker.ledgers import LedgerGroup


def test_a_member_has_the_group_s_log_and_waits_for_its_majority() -> None:
    broker = LedgerGroup().brokers["n1"].service.broker
    replicas = broker.produce.durability.replicas
    assert isinstance(replicas, QuorumReplicas)
    assert isinstance(replicas.ledger, LedgerLog)
    assert replicas.ledger.files.directory == "/store/dledger-n1/data"


def test_a_broker_in_no_group_loads_none_of_it() -> None:
    code = "import sys, mqgateway.gateway.broker.service; print([m for m in sys.modules if 'raft' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
