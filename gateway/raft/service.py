"""Service of a DLedger group's member: its port, its connections to the others, its ticks and syncs.

    service = RaftService(settings, log, remoting_options, Runtime(reactor, clock, disk, worker))
    service.start()
    service.member.append(...); service.carry_out()

RocketMQ: `DLedgerServer`, `DLedgerRpcNettyService`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from random import Random

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.raft.effects import Send
from mqgateway.engine.raft.log import RaftLog
from mqgateway.engine.raft.member import TICK, RaftMember
from mqgateway.engine.raft.messages import NO_ANSWER, Answer, HeartBeat
from mqgateway.engine.raft.quorum import EMPTY_OPENING, TermOpening
from mqgateway.engine.raft.settings import MemberSettings
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import BodyError
from mqgateway.gateway.raft.wire import (
    RaftCode,
    decode_answer,
    decode_request,
    encode_answer,
    encode_refusal,
    encode_request,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.exchange import RequestTimedOut
from mqgateway.gateway.remoting.service import RemotingService
from mqgateway.gateway.runtime.service import Runtime

log = logging.getLogger(__name__)

ANSWERED = 200
"""Response code of every answer."""

PROGRESS_SECONDS = 3.0
"""Interval at which the committed position is saved. RocketMQ: `checkPointInterval`."""


class RaftService(RemotingService):
    """One member of the group on its port. The worker syncs the log.

    Requests with a code in `served` are answered. `on_carried_out` is called after the member's effects were
    carried out, `on_ended` when a disk failure stops the member.
    """

    def __init__(
        self,
        settings: MemberSettings,
        raft_log: RaftLog,
        remoting: RemotingOptions,
        runtime: Runtime,
        *,
        random: Random | None = None,
        opening: TermOpening | None = EMPTY_OPENING,
        served: Iterable[RaftCode] = RaftCode,
        on_carried_out: Callable[[], None] = lambda: None,
        on_ended: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(runtime, remoting)
        self._settings = settings
        self._log = raft_log
        self._on_carried_out = on_carried_out
        self._on_ended = on_ended
        self._is_syncing = False
        self._is_over = False
        self.member = RaftMember(settings, raft_log, random or Random(), opening)
        self._client = self._make_client()
        dispatcher = Dispatcher(self, dict.fromkeys(served, _serve), {}, clock=runtime.clock)
        self._server = self._make_server(dispatcher)
        self._on_stop(self._leave)

    def _begin(self) -> None:
        """Listen, and join the group."""
        port = int(self._settings.peers[self._settings.self_id].rpartition(":")[2])
        self._server.listen(self._remoting.bind_address, port)
        self._schedule.every(TICK / 1000, TICK / 1000, self._tick)
        self._schedule.every(PROGRESS_SECONDS, PROGRESS_SECONDS, self._save_progress)

    def _leave(self) -> None:
        """Leave the group, and save the committed position."""
        self._is_over = True
        self._schedule.stop()
        self._save_progress()

    @property
    def _now(self) -> int:
        return elapsed_millis(self._runtime.clock)

    def _tick(self) -> None:
        self.member.tick(self._now)
        self.carry_out()

    def _save_progress(self) -> None:
        try:
            self._log.save_progress()
        except OSError as error:
            log.warning("the committed position cannot be written: %s", error)

    # Effects of the member.

    def carry_out(self) -> None:
        """Carry out the member's effects; to be called after each input to it."""
        for effect in self.member.take():
            if isinstance(effect, Send):
                self._send(effect)
            elif effect.token is not None:
                answered: Deferred[Answer] = effect.token  # type: ignore[assignment]
                answered.callback(effect.answer)
        self._sync()
        self._on_carried_out()

    def _send(self, effect: Send) -> None:
        settings, request = self._settings, effect.request
        address = settings.peers[effect.peer]
        code, body = encode_request(settings.group, settings.self_id, effect.peer, request)
        # The answer to a heartbeat is useless once the next heartbeat is due.
        is_heartbeat = isinstance(request, HeartBeat)
        timeout = settings.heart_beat_interval if is_heartbeat else settings.request_timeout
        asked = self._client.request(address, RemotingCommand.request(code, body=body), timeout / 1000)

        def answered(command: RemotingCommand) -> Answer | None:
            return decode_answer(request, command.body) if command.code == ANSWERED else NO_ANSWER

        def failed(failure: Failure) -> None:
            log.debug("%s does not answer: %s", effect.peer, failure.getErrorMessage())
            if isinstance(failure.value, RequestTimedOut):
                # The connection can be dead for a quarter of an hour before the system notices, and a
                # follower that does not hear from its leader starts election after election.
                self._client.release(address)

        def report(answer: Answer | None) -> None:
            if not self._is_over:
                effect.answered(answer, self._now)
                self.carry_out()

        asked.addCallback(answered).addErrback(failed).addCallback(report)

    def _sync(self) -> None:
        """Sync the log, one sync at a time, so that each sync covers all entries written before it."""
        if self._is_syncing or self._is_over:
            return
        work = self._log.unsynced()
        if work is None:
            return
        self._is_syncing = True

        def done(outcome: object) -> None:
            self._is_syncing = False
            if isinstance(outcome, Exception):
                # The content of the disk is now unknown; as after a crash, the next start recovers it.
                log.error("the log cannot be synced, %s stops: %s", self._settings.self_id, outcome)
                self.stop()
                self._on_ended()
                return
            self._log.note_synced(work)
            self.member.synced(self._now)
            self.carry_out()

        self._worker.run(work.sync, done)

    # Requests of others.

    def serve(self, call: Call) -> Reply | Deferred[Reply]:
        """Answer a request of another member or of a client."""
        try:
            asked, request = decode_request(RaftCode(call.command.code), call.body)
        except BodyError as error:
            raise RequestError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        code = self.member.refusal(asked.group or "", asked.remote_id or "")
        if code is not None:
            return Reply(ANSWERED, body=encode_refusal(asked, code, self.member.leader))
        # Without a canceller: the answer is still produced, and dropped, if the requester has disconnected.
        answered: Deferred[Answer] = Deferred()
        reply = answered.addCallback(lambda answer: Reply(ANSWERED, body=encode_answer(asked, answer)))
        self.member.receive(request, answered, self._now)
        self.carry_out()
        return reply


def _serve(service: RaftService, call: Call) -> Reply | Deferred[Reply]:
    return service.serve(call)
