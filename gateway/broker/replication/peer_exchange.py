"""Exchange between the broker groups that form one Kafka cluster.

Every broker asks the master of each other group for its nodes every second, with request 906, and for its
topics when their version changes. The same request, with a kind and a body of JSON, carries what a front end
asks of another group's master. With access control it needs the rights to change the cluster, which brokers
have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred, inlineCallbacks, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine import json_members, lenient_json
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.group_nodes import NO_VIEW, parse_view
from mqgateway.engine.ha.peer_groups import PeerGroups, group_names
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.replication.node_exchange import ANSWER_FIELD, TOPICS_FIELD
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ExchangeHAInfoRequestHeader
from mqgateway.gateway.remoting.call import RequestError

log = logging.getLogger(__name__)

GROUP_FIELD: Final = "frontEndGroup"
"""Field of request 906: the group that is asked, which the broker must belong to."""
KIND_FIELD: Final = "frontEndKind"
"""Field of request 906: the kind of a front end's request, whose body is JSON."""
NAMES_FIELD: Final = "frontEndGroups"
"""Field of request 906: the names of all groups, as the sender has them."""
PERIOD_MILLIS: Final = 1000

Fields = Mapping[str, Any]
Serve = Callable[[Fields], "Fields | Deferred[Fields]"]


class PeerExchange:
    """The other groups of one broker's cluster. Raises `ConfigError` for settings that do not allow them.

    Accounts of RocketMQ 4 do not: all of them may send request 906.
    """

    def __init__(self, broker: Broker) -> None:
        options = broker.options
        if options.acl_enable:
            text = "kafkaClusterGroups needs users and policies of RocketMQ 5, and aclEnable is set"
            raise ConfigError(text)
        self._broker = broker
        self._directory = broker.cluster.broker_directory
        self.groups = PeerGroups(
            group_names(options.kafka_cluster_groups),
            options.broker_name,
            broker.tables.topics.get,
            broker.tables.peer_topics,
        )
        self._next = dict.fromkeys(self.groups.others, 0)
        self._asking: dict[str, list[Deferred[None]]] = {}
        self._complaints: dict[str, str] = {}
        self._serve: dict[str, Serve] = {}

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    def tick(self) -> None:
        """See `Peers`."""
        now = self._now()
        for group in self.groups.others:
            if group not in self._asking and now >= self._next[group]:
                self._next[group] = now + PERIOD_MILLIS
                self.refresh(group)

    def refresh(self, group: str) -> Deferred[None]:
        """See `Peers`. Calls that come while the group is asked wait together for the next answer."""
        done: Deferred[None] = Deferred()
        waiting = self._asking.get(group)
        if waiting is None:
            self._ask_group(group, [done])
        else:
            waiting.append(done)
        return done

    def _ask_group(self, group: str, waiting: Sequence[Deferred[None]]) -> None:
        self._asking[group] = []

        def ended(_: object) -> None:
            late = self._asking.pop(group)
            if late:
                self._ask_group(group, late)
            for done in waiting:
                done.callback(None)

        self._poll(group).addCallbacks(
            lambda _: self._complain(group, ""), self._failed, errbackArgs=(group,)
        ).addErrback(lambda failure: log.error("broker group %s: %s", group, failure.getTraceback())).addBoth(
            ended
        )

    @inlineCallbacks
    def _poll(self, group: str) -> Generator[Deferred[RemotingCommand], RemotingCommand, None]:
        answer = yield self._directory.ask(group, self._request(group))
        text = answer.ext_fields.get(ANSWER_FIELD)
        if answer.code != ResponseCode.SUCCESS or not text:
            remark = answer.remark or "it is no master with Kafka's port and kafkaClusterGroups"
            raise RequestError(ResponseCode.SYSTEM_ERROR, remark)
        view, version = parse_view(text), answer.ext_fields.get(TOPICS_FIELD, "")
        if version != self.groups.version_of(group):
            answer = yield self._directory.ask(
                group, RemotingCommand.request(RequestCode.GET_ALL_TOPIC_CONFIG)
            )
            if answer.code != ResponseCode.SUCCESS:
                raise RequestError(ResponseCode.SYSTEM_ERROR, answer.remark or str(answer.code))
            for name in self.groups.note_topics(group, _topics(answer.body), version):
                self._broker.tables.offsets.remove_topic(name)
        self.groups.note(group, view, self._now())
        own = NO_VIEW if self._broker.nodes is None else self._broker.nodes.view()
        clash = self.groups.clash(group, own)
        if clash is not None:
            raise ConfigError(f"node {clash} has the id of a node of another group (kafkaNodeId)")

    def _failed(self, failure: Failure, group: str) -> None:
        if isinstance(failure.value, RequestError):
            self._directory.expire()
        elif not isinstance(failure.value, ConfigError | ValueError):
            failure.raiseException()
        self._complain(group, failure.getErrorMessage())

    def _complain(self, group: str, problem: str) -> None:
        """Log a problem once, until it changes."""
        if problem != self._complaints.get(group, ""):
            self._complaints[group] = problem
            level = logging.WARNING if problem else logging.INFO
            log.log(level, "broker group %s: %s", group, problem or "its master answers")

    def ask(self, group: str, kind: str, fields: Fields) -> Deferred[Fields]:
        """See `Peers`."""
        command = self._request(group, kind, lenient_json.dumps(fields))

        def read(answer: RemotingCommand) -> Fields:
            if answer.code != ResponseCode.SUCCESS or not answer.body:
                why = answer.remark or "it is no master that serves Kafka clients"
                raise OperationError(Reason.SYSTEM_ERROR, f"broker group {group}: {why}")
            return _members(answer.body)

        def failed(failure: Failure) -> Fields:
            if not isinstance(failure.value, RequestError | ConfigError | ValueError):
                failure.raiseException()
            self._directory.expire()
            raise OperationError(Reason.SYSTEM_ERROR, failure.getErrorMessage())

        return self._directory.ask(group, command).addCallback(read).addErrback(failed)

    def _request(self, group: str, kind: str = "", body: bytes = b"") -> RemotingCommand:
        ext = {GROUP_FIELD: group, NAMES_FIELD: ",".join(self.groups.names)}
        ext |= {KIND_FIELD: kind} if kind else {}
        header = ExchangeHAInfoRequestHeader()
        return RemotingCommand.request(RequestCode.EXCHANGE_BROKER_HA_INFO, header, body, ext=ext)

    def check_names(self, setting: str) -> None:
        """See `Peers`."""
        if not self.groups.agrees(group_names(setting)):
            own = ",".join(self.groups.names)
            text = f"kafkaClusterGroups is {own} here, and {setting} at the broker that asks"
            raise OperationError(Reason.INVALID_PARAMETER, text)

    def serve(self, kind: str, serve: Serve) -> None:
        """See `Peers`."""
        self._serve[kind] = serve

    def received(self, kind: str, body: bytes) -> Deferred[bytes]:
        """See `Peers`."""
        serve = self._serve.get(kind)
        if serve is None:
            raise OperationError(Reason.SERVICE_NOT_AVAILABLE, f"{kind} is not served yet")

        def invalid(failure: Failure) -> bytes:
            if not isinstance(failure.value, ConfigError | ValueError):
                failure.raiseException()
            raise OperationError(Reason.INVALID_PARAMETER, f"{kind}: {failure.value}")

        return (
            maybeDeferred(lambda: serve(_members(body))).addCallback(lenient_json.dumps).addErrback(invalid)
        )


def _topics(body: bytes) -> dict[str, TopicConfig]:
    table = json_members.read(_members(body), "topicConfigTable", dict[str, Any]())
    configs = (TopicConfig.from_json(value) for value in table.values())
    return {config.topic_name: config for config in configs}


def _members(body: bytes) -> dict[str, Any]:
    fields = lenient_json.loads(body)
    if not isinstance(fields, dict):
        raise ConfigError("it is not an object")
    return fields
