"""Obstacles to the migration of a group, found before anything is changed.

An obstacle that cannot be repaired afterwards is refused (`fatal`). Any other has a code with which an
operator accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mqgateway.gateway.client import admin_broker, admin_topics
from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.migration import cluster
from mqgateway.gateway.migration.plan import Way
from mqgateway.gateway.mqadmin.servers import Servers

PERM_WRITE = 2
COMPACTION = "COMPACTION"


@dataclass(frozen=True)
class MigrationProblem:
    """One obstacle."""

    code: str
    what: str
    fatal: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the obstacle as stored in plans."""
        return {"code": self.code, "what": self.what, "fatal": self.fatal}


@dataclass
class SurveyedGroup:
    """Result of the survey of a group. `way` is the requested one, or `ELECT` if a controller elects."""

    way: Way
    master: str
    settings: dict[str, str]
    figures: dict[str, str]
    members: dict[int, str]
    log: tuple[int, int]
    topics: dict[str, Any]
    only_here: list[str]
    """Topics that clients can write to in this group only."""
    problems: list[MigrationProblem]

    @property
    def new_id(self) -> int:
        """A broker id that is not in use."""
        return max(self.members, default=0) + 1


def survey(servers: Servers, broker_name: str, way: Way) -> SurveyedGroup:
    """Survey a group with queries to its master and name servers. Raises `ClientError`, `MigrationError`."""
    master = cluster.master_of(servers, broker_name)
    settings = servers.ask(admin_broker.settings(), master)
    figures = servers.ask(admin_broker.figures(), master)
    topics = servers.ask(admin_topics.all_configs(), master)
    found = SurveyedGroup(
        way,
        master,
        settings,
        figures,
        cluster.members(servers, broker_name),
        cluster.span(servers, master),
        topics,
        _only_here(servers, broker_name, topics),
        [],
    )
    if way is not Way.IN_PLACE and _is(settings, "enableControllerMode"):
        found.way = Way.ELECT
    found.problems += [*_of_settings(settings, way), *_of_version(figures)]
    found.problems += _of_topics(topics, way)
    if found.way is Way.REPLICATE:
        found.problems += _of_slaves(servers, found)
    return found


def _is(settings: Mapping[str, str], name: str, value: str = "true") -> bool:
    return settings.get(name, "").lower() == value.lower()


def _of_settings(settings: Mapping[str, str], way: Way) -> Iterator[MigrationProblem]:
    for name, what in (
        ("enableDLegerCommitLog", "its log is DLedger's, which has another format"),
        ("duplicationEnable", "it duplicates its log to others"),
        ("popConsumerKVServiceEnable", "what was popped is kept in RocksDB and nowhere else"),
        ("timerRocksDBEnable", "timers are kept in RocksDB and nowhere else"),
    ):
        if _is(settings, name):
            yield MigrationProblem(name, f"{name}=true: {what}; it would be lost", fatal=True)
    if way is Way.IN_PLACE and _is(settings, "enableControllerMode"):
        what = "the controller would elect another while it is away; replicate instead"
        yield MigrationProblem("enableControllerMode", f"enableControllerMode=true: {what}", fatal=True)
    if way is Way.IN_PLACE:
        for name, usual in (("storeType", "default"), ("configManagerVersion", "V1")):
            if name in settings and not _is(settings, name, usual):
                what = "its files are RocksDB's and cannot be opened; replicate instead"
                yield MigrationProblem(name, f"{name}={settings[name]}: {what}", fatal=True)
        return
    if any(_is(settings, name) for name in ("authenticationEnabled", "authorizationEnabled", "aclEnable")):
        what = "users and policies are not replicated: copy them to the new broker (copyUser, copyAcl)"
        yield MigrationProblem("accounts", what)
    if _is(settings, "enableLmq"):
        yield MigrationProblem(
            "light-queues", "offsets of LMQ queues are not replicated: their groups begin again"
        )
    if _is(settings, "enableSlaveActingMaster"):
        what = (
            "enableSlaveActingMaster=true: the slave acts while the master is away, which is not needed here"
        )
        yield MigrationProblem("acting", what)


def _of_version(figures: Mapping[str, str]) -> Iterator[MigrationProblem]:
    found = cluster.version(figures)
    if not (found[:2] == (4, 9) or found[:1] == (5,)):
        said = figures.get("brokerVersionDesc", "nothing")
        yield MigrationProblem(
            "version", f"it says of its version {said}: 4.9 and 5 are known to follow one another"
        )


def _of_topics(topics: Mapping[str, Any], way: Way) -> Iterator[MigrationProblem]:
    compacted = [
        name for name, one in topics.items() if one.attributes.get("cleanup.policy", "").upper() == COMPACTION
    ]
    if compacted and way is not Way.IN_PLACE:
        what = "what is older than the log is not replicated, and would be lost; move in place"
        yield MigrationProblem(
            "compaction", f"{', '.join(sorted(compacted)[:3])} keep their newest messages: {what}", True
        )


def _of_slaves(servers: Servers, found: SurveyedGroup) -> Iterator[MigrationProblem]:
    followers = cluster.slaves(servers, found.master)
    behind = [address for address, _, is_in_sync in followers if not is_in_sync]
    if behind:
        yield MigrationProblem(
            "slave-behind", f"the slaves at {', '.join(behind)} do not keep up", fatal=True
        )
    if len(followers) > 0 and cluster.version(found.figures)[:1] == (4,):
        what = "a master of version 4 waits for one of its slaves, whichever: stop the old ones before"
        yield MigrationProblem("slaves", what)


def _only_here(servers: Servers, broker_name: str, topics: Mapping[str, Any]) -> list[str]:
    """Return the user topics that are writable in this group and in no other."""
    system = servers.ask_names(names.system_topics()) | {broker_name}
    own = []
    for name, one in topics.items():
        if name in system or name.startswith("%") or not one.perm & PERM_WRITE:
            continue
        route = servers.ask_names(names.route(name))
        others = [
            queue
            for queue in (route.queue_datas if route is not None else [])
            if queue.broker_name != broker_name and queue.perm & PERM_WRITE
        ]
        if not others:
            own.append(name)
    return sorted(own)
