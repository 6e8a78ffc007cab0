"""A member of ours of a DLedger group as a process of its own, which can be killed.

``python -m compat_tests.support.raft_member GROUP PEERS ID FOLDER FILE_SIZE`` takes part with its log in
``FOLDER`` until it is told to end (SIGTERM), and says ``ready`` once it listens.
"""

from __future__ import annotations

import logging
import sys
from typing import cast

from twisted.internet import reactor as twisted_reactor
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.disk import RealDisk
from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.raft.settings import MemberSettings, peers_of
from mqgateway.gateway.raft.service import RaftService
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.threads import ThreadWorker


def main() -> None:
    """Take part until the end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(levelname)s %(message)s")
    group, peers, member_id, folder, file_size = sys.argv[1:]
    reactor = cast(Reactor, twisted_reactor)
    worker = ThreadWorker(reactor)  # type: ignore[arg-type]
    service = RaftService(
        MemberSettings(group, member_id, peers_of(peers)),
        FileLog(RealDisk(), folder, int(file_size)),
        reactor=reactor,
        clock=SystemClock(),
        remoting=RemotingOptions(bind_address="127.0.0.1"),
        worker=worker,
        opening=None,
    )
    service.start()
    print("ready", flush=True)

    def stop() -> Deferred[list[None]]:
        worker.stop()
        return service.stop()

    reactor.addSystemEventTrigger("before", "shutdown", stop)  # type: ignore[attr-defined]
    reactor.run()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
