"""Settings of groups, as Kafka clients read and change them.

They are those of `engine.tables.kafka_group_configs`. A group need not exist to have some. Standard:
`ConfigHelper`, `ControllerConfigurationValidator`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mqgateway.engine import json_members
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.kafka_configs import BOOLEAN, INT, PREFIX, STRING
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Permit, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsSynonym,
)
from mqgateway.gateway.kafka.creation import CreationRejected
from mqgateway.gateway.kafka.forwarded import ForeignChanges, together
from mqgateway.gateway.kafka.group_names import store_group
from mqgateway.gateway.kafka.group_settings import group_defaults, own_settings
from mqgateway.gateway.kafka.rights import on_group

GROUP_RESOURCE = 32
STATIC_SOURCE, DEFAULT_SOURCE, GROUP_SOURCE = 4, 5, 8
GROUP_SETTINGS = "groupSettings"
GROUP, VALUES, REMOVED = "group", "values", "removed"
TYPES = {BOOLEAN: 1, STRING: 2, INT: 3}


class GroupConfigs:
    """Settings of groups. All broker groups of a cluster have them: one of them coordinates the group.

    A change is made at the controller, which has the other broker groups make it too.
    """

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        if operations.peers is not None:
            operations.peers.serve(GROUP_SETTINGS, self._received)

    def rows(self, call: KafkaCall, name: str) -> Iterator[DescribeConfigsResourceResult]:
        """Yield the settings of a group. Raises `CreationRejected`."""
        self._admit(call, name, Use.QUERY, AclOperation.DESCRIBE_CONFIGS)
        if not name:
            raise CreationRejected(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        own, defaults = own_settings(self._operations, name), group_defaults(self._operations.options)
        for key, (config, *_) in KAFKA_GROUP_CONFIGS.items():
            synonyms = [DescribeConfigsSynonym(config.synonym or key, config.default, DEFAULT_SOURCE)]
            if defaults[key] != config.default:
                synonyms.insert(0, DescribeConfigsSynonym(config.synonym, defaults[key], STATIC_SOURCE))
            if key in own:
                synonyms.insert(0, DescribeConfigsSynonym(key, own[key], GROUP_SOURCE))
            yield DescribeConfigsResourceResult(
                key,
                synonyms[0].value,
                False,
                synonyms[0].source,
                False,
                synonyms,
                TYPES[config.kind],
                config.meaning,
            )

    def change(
        self,
        call: KafkaCall,
        name: str,
        changes: Mapping[str, str | None],
        only_check: bool,
        foreign: ForeignChanges,
        *,
        replaces: bool,
    ) -> None:
        """Change settings of a group; None stands for the default. What is not named stays, unless all is
        replaced. Raises `CreationRejected`, `OperationError`."""
        permit = self._admit(call, name, Use.ADMINISTER, AclOperation.ALTER_CONFIGS)
        if not name:
            raise CreationRejected(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        for key, value in changes.items():
            _check(key, value)
        own = own_settings(self._operations, name)
        values = dict.fromkeys(own) | dict(changes) if replaces else dict(changes)
        _check_heartbeats(group_defaults(self._operations.options), own | values)
        if only_check:
            return
        self._put(permit, name, values)
        peers = self._operations.peers
        if peers is not None:
            kept = {key: value for key, value in values.items() if value is not None}
            fields = {GROUP: name, VALUES: kept, REMOVED: [*(values.keys() - kept.keys())]}
            others = [peers.ask(group, GROUP_SETTINGS, fields) for group in peers.others]
            foreign.begun(together(others))

    def _put(self, permit: Permit, name: str, values: Mapping[str, str | None]) -> None:
        own = own_settings(self._operations, name)
        wanted = {f"+{PREFIX}{key}": value for key, value in values.items() if value is not None}
        gone = {f"-{PREFIX}{key}": "" for key, value in values.items() if value is None and key in own}
        if wanted or gone:
            stored = store_group(name)
            known = self._operations.groups.get(stored) or SubscriptionGroupConfig(stored)
            self._operations.administration.put_group(permit, replace(known, attributes=wanted | gone))

    def _received(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make a change of the controller's. Raises `ConfigError`, `OperationError`."""
        name = json_members.read(fields, GROUP, "")
        values = dict.fromkeys(json_members.read(fields, REMOVED, list[Any]()))
        values |= json_members.read(fields, VALUES, dict[str, Any]())
        if not all(isinstance(value, str | None) for value in values.values()):
            raise ConfigError(f"{VALUES} has others than texts: {values}")
        try:
            for key, value in values.items():
                _check(key, value)
        except CreationRejected as refusal:
            raise ConfigError(str(refusal)) from refusal
        self._put(self._operations.gate.internal(Use.ADMINISTER), name, values)
        return {}

    def _admit(self, call: KafkaCall, name: str, use: Use, operation: AclOperation) -> Permit:
        try:
            return call.admit(use, on_group(store_group(name), operation))
        except NotAdmitted as error:
            raise CreationRejected(ErrorCode.GROUP_AUTHORIZATION_FAILED, str(error)) from None


def _check(key: str, value: str | None) -> None:
    """Check a setting. Raises `CreationRejected`."""
    row = KAFKA_GROUP_CONFIGS.get(key)
    if row is None:
        raise CreationRejected(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {key}")
    problem = None if value is None else row.problem(value)
    if problem is not None:
        raise CreationRejected(ErrorCode.INVALID_CONFIG, problem)


def _check_heartbeats(defaults: Mapping[str, str], own: Mapping[str, str | None]) -> None:
    """Check that members send heartbeats before they count as gone. Raises `CreationRejected`.

    `own` are the group's settings after a change; None stands for the default.
    """
    for kind in ("consumer", "share"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if int(own.get(session) or defaults[session]) <= int(own.get(heartbeat) or defaults[heartbeat]):
            raise CreationRejected(ErrorCode.INVALID_CONFIG, f"{session} must be greater than {heartbeat}.")
