"""What a plan says: which groups move, from whom to whom, how, and with which files of brokers; pure.

A plan is JSON, made by `survey` and looked through by a person, who may put in commands by which brokers are
started and stopped. How far it is is kept beside it (`Progress`), so that a run that was ended goes on.
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
"""Producers of the standard look for routes each 30 s."""


class MigrationError(Exception):
    """What keeps a move from going on; nothing is lost, and it can be run again."""


class Way(StrEnum):
    """How a group moves: the new broker copies the log as a slave, opens the old one's store, or joins a set
    whose controller then elects it."""

    REPLICATE = "replicate"
    IN_PLACE = "in-place"
    ELECT = "elect"


@dataclass
class Side:
    """One of the two brokers. The commands are given to a shell; where one is empty, a person is asked.

    `slave_file` and `master_file` are settings that it is to be started with in that role.
    """

    address: str
    slave_file: str = ""
    master_file: str = ""
    begin_slave: str = ""
    begin_master: str = ""
    end: str = ""


@dataclass
class GroupPlan:
    """One broker group. `drain`: producers have other groups for each topic, and leave before it moves."""

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
        """The text of the file."""
        return orjson.dumps({"version": VERSION, **asdict(self)}, option=orjson.OPT_INDENT_2) + b"\n"


def decode(data: bytes, path: str) -> MigrationPlan:
    """The plan in a text. Raises `MigrationError`."""
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
    """How far one direction of one group is: the names of steps that are done, and what they keep."""

    done: list[str] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)


class Progress:
    """How far each group is, forward and back."""

    def __init__(self) -> None:
        self._moves: dict[str, dict[str, Moves]] = {}

    def of(self, broker_name: str, direction: str) -> Moves:
        """One direction of a group."""
        return self._moves.setdefault(broker_name, {}).setdefault(direction, Moves())

    def forget(self, broker_name: str, direction: str) -> None:
        """It is to begin anew."""
        self._moves.get(broker_name, {}).pop(direction, None)

    def encode(self) -> bytes:
        """The text of the file."""
        shape = {
            name: {direction: asdict(one) for direction, one in moves.items()}
            for name, moves in self._moves.items()
        }
        return orjson.dumps(shape, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS) + b"\n"

    @classmethod
    def decode(cls, data: bytes, path: str) -> Progress:
        """The progress in a text; none is a beginning. Raises `MigrationError`."""
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
"""Settings that belong to a broker's place or role, which the other one has its own of."""


def shared_settings(told: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Of what a broker says of its settings what the other one has to be told: those that both know and whose
    value is not the default."""
    return {
        name: value
        for name, value in sorted(told.items())
        if name in defaults and name not in OF_THE_PLACE and value not in (defaults[name], "", "null")
    }


def as_file(settings: Mapping[str, str], *more: tuple[str, str]) -> str:
    """The text of a broker's file."""
    return "".join(f"{name}={value}\n" for name, value in {**settings, **dict(more)}.items())
