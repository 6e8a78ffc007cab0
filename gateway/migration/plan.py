"""Contents of a plan: the groups, their old and new brokers, the way and the settings files; pure.

A plan is JSON, made from `survey` and reviewed by an operator, who may add the commands that start and stop
brokers. Its progress is stored beside it (`Progress`), so that an interrupted run can continue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from mqgateway.gateway.front_ends import FRONT_ENDS

VERSION = 1
DRAIN_SECONDS = 35.0
"""Default drain time; RocketMQ's producers update routes every 30 s."""


class MigrationError(Exception):
    """An obstacle stopped the migration; nothing is lost, and the command can be run again."""


class Way(StrEnum):
    """Method of a group's migration.

    The new broker copies the log as a slave, opens the old broker's store, or joins a set whose controller
    then elects it.
    """

    REPLICATE = "replicate"
    IN_PLACE = "in-place"
    ELECT = "elect"


@dataclass
class Side:
    """One of the two brokers. A shell runs the commands; an empty command is requested from an operator.

    `slave_file` and `master_file` are the paths of its settings files in that role.
    """

    address: str
    slave_file: str = ""
    master_file: str = ""
    begin_slave: str = ""
    begin_master: str = ""
    end: str = ""


@dataclass
class GroupPlan:
    """One broker group. `drain`: all its topics exist in other groups, so producers leave before it moves."""

    broker_name: str
    cluster: str
    way: Way
    old: Side
    new: Side
    drain: bool = True
    problems: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class MigrationPlan:
    """All groups, in the order in which they move."""

    name_servers: list[str]
    groups: list[GroupPlan]
    drain_seconds: float = DRAIN_SECONDS

    def encode(self) -> bytes:
        """Return the contents of the file."""
        return orjson.dumps({"version": VERSION, **asdict(self)}, option=orjson.OPT_INDENT_2) + b"\n"


def decode(data: bytes, path: str) -> MigrationPlan:
    """Parse a plan. Raises `MigrationError`."""
    try:
        found = orjson.loads(data)
        if found.pop("version") != VERSION:
            raise MigrationError(f"{path} is a plan of another version than {VERSION}: create it again")
        groups = [
            GroupPlan(**{**one, "way": Way(one["way"]), "old": Side(**one["old"]), "new": Side(**one["new"])})
            for one in found.pop("groups")
        ]
        return MigrationPlan(groups=groups, **found)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise MigrationError(f"{path} is not a plan: {error}") from None


@dataclass
class Moves:
    """Progress of one direction of one group: the completed steps, and the values they recorded."""

    done: list[str] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)


class Progress:
    """Progress of each group, forward and back."""

    def __init__(self) -> None:
        self._moves: dict[str, dict[str, Moves]] = {}

    def of(self, broker_name: str, direction: str) -> Moves:
        """Return the progress of a group in one direction."""
        return self._moves.setdefault(broker_name, {}).setdefault(direction, Moves())

    def forget(self, broker_name: str, direction: str) -> None:
        """Reset the progress of a group in one direction."""
        self._moves.get(broker_name, {}).pop(direction, None)

    def encode(self) -> bytes:
        """Return the contents of the file."""
        shape = {
            name: {direction: asdict(one) for direction, one in moves.items()}
            for name, moves in self._moves.items()
        }
        return orjson.dumps(shape, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n"

    @classmethod
    def decode(cls, data: bytes, path: str) -> Progress:
        """Parse the progress; empty data is no progress. Raises `MigrationError`."""
        progress = cls()
        try:
            for name, moves in (orjson.loads(data) if data else {}).items():
                progress._moves[name] = {direction: Moves(**one) for direction, one in moves.items()}
        except (orjson.JSONDecodeError, AttributeError, TypeError) as error:
            raise MigrationError(f"{path} was not written by mqgateway migrate: {error}") from None
        return progress


OF_THE_PLACE = frozenset(
    (
        *("brokerId", "brokerRole", "brokerIP1", "brokerIP2", "listenPort", "haListenPort", "bindAddress"),
        *("storePathRootDir", "storePathCommitLog", "storePathDLedgerCommitLog", "storePathEpochFile"),
        *(
            "storePathConsumerQueue",
            "storePathIndex",
            "storeCheckpoint",
            "abortFile",
            "readOnlyCommitLogStorePaths",
        ),
        *(
            "rocketmqHome",
            "brokerConfigPath",
            "configStorePath",
            "haMasterAddress",
            "metricsPromExporterPort",
        ),
        *("inSyncReplicas", "minInSyncReplicas", "totalReplicas", "accessMessageInMemoryMaxRatio"),
        *(
            "startAcceptSendRequestTimeStamp",
            "fetchNamesrvAddrByAddressServer",
            *(front_end.setting for front_end in FRONT_ENDS),
        ),
    )
)
"""Settings of a broker's location or role, of which the other broker has its own values."""


def shared_settings(reported: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a broker that the other one must share.

    These are the settings that both know and whose value is not the default.
    """
    return {
        name: value
        for name, value in sorted(reported.items())
        if name in defaults and name not in OF_THE_PLACE and value not in (defaults[name], "", "null")
    }


def as_file(settings: Mapping[str, str], *more: tuple[str, str]) -> str:
    """Return the text of a broker's settings file; `more` takes precedence."""
    return "".join(f"{name}={value}\n" for name, value in {**settings, **dict(more)}.items())
