"""Brokers of both kinds in one set under a controller of either kind, and the requests of a scenario to them.

A load sends to the master that the name server reports, as clients do, and keeps the acknowledged messages. A
set is whole when all members are in sync. All logs must then be equal byte for byte, and must contain each
acknowledged message at the offset of its response.

There is one exception: Apache's master may acknowledge alone a message that its successor does not have
(`support.reigns`). Losses with proof of that are counted separately.
"""

from __future__ import annotations

import itertools
import os
import signal
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from compat_tests.support.artifacts import OPENS, class_path
from compat_tests.support.etcd import Controller, EtcdCluster, controllers, our_controller
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.reigns import Acknowledged, Loss, Reigns
from compat_tests.support.servers import (
    HOST,
    QUICK_JVM,
    Part,
    Settings,
    apache_broker,
    apache_namesrv,
    class_data,
    our_broker,
    our_namesrv,
)
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.store.record import BLANK_MAGIC, decode
from mqgateway.gateway.codec.codes import RequestCode

SET = "brk"
CLUSTER = "DefaultCluster"
TOPIC = "T"
SETTINGS = {
    "brokerName": SET,
    "enableControllerMode": "true",
    "allAckInSyncStateSet": "true",
    "mappedFileSizeCommitLog": str(1 << 20),
    "slaveReadEnable": "true",
    "registerNameServerPeriod": "10000",
}
WHOLE_SECONDS = 150
"""Apache's slaves may learn their master's address only with their next registration."""
SEND_SECONDS = 3.5
BETWEEN_SENDS = 0.01
SENDERS = 4
GROUPS = ("apache", "apache-3", "file", "etcd")
"""Controllers: Apache's, one and three of them; ours with a file, and two of ours with an etcd."""


def apache_controllers(folder: Path, count: int, settings: Settings | None = None) -> list[Controller]:
    """Return Apache's controllers of one group, not started."""
    ports = [free_ports() for _ in range(count)]
    peers = ";".join(f"n{number}-{HOST}:{port}" for number, port in enumerate(ports))
    return [
        _apache_controller(folder / f"n{number}", number, port, peers, settings or {})
        for number, port in enumerate(ports)
    ]


def _apache_controller(folder: Path, number: int, port: int, peers: str, settings: Settings) -> Controller:
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {
        "controllerDLegerGroup": "g1",
        "controllerDLegerPeers": peers,
        "controllerDLegerSelfId": f"n{number}",
        "controllerStorePath": str(folder / "controller"),
        "mappedFileSize": str(16 << 20),
        "bindAddress": HOST,
        **settings,
    }
    config = folder / "controller.conf"
    config.write_text("".join(f"{name}={value}\n" for name, value in chosen.items()))
    jvm = ["-Xms64m", "-Xmx256m", *QUICK_JVM, *class_data(), *OPENS, f"-Duser.home={folder}"]
    main = "org.apache.rocketmq.controller.ControllerStartup"
    command = ["java", *jvm, "-cp", class_path("server"), main, "-c", str(config)]
    address, env = f"{HOST}:{port}", {"ROCKETMQ_HOME": str(folder)}
    return Controller(address, Part(command, folder / "controller.log", "boot success", [address], env))


class Member:
    """One broker of the set, of either kind."""

    def __init__(self, kind: str, folder: Path, namesrv: str, settings: Settings) -> None:
        port = free_ports((-2, 0, 1))
        self.kind = kind
        self.address = f"{HOST}:{port}"
        self.store = folder / "store"
        make = apache_broker if kind == "apache" else our_broker
        self._part = make(folder, port, namesrv, settings)
        self.is_frozen = self.is_dead = False

    def __repr__(self) -> str:
        return f"{self.kind} {self.address}"

    def start(self) -> None:
        self._part.start()
        self.is_dead = False

    def kill(self) -> None:
        """Kill the broker with SIGKILL."""
        self.is_dead, self.is_frozen = True, False
        self._part.kill9()

    def stop(self) -> None:
        """Stop the broker with SIGTERM, and wait for its end."""
        self.is_dead = True
        self._part.stop()

    def freeze(self) -> None:
        """Suspend the process; its connections stay open."""
        self.is_frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)
        self.is_frozen = False

    def _signal(self, number: int) -> None:
        os.kill(self._part.pid, number)

    def epochs(self) -> dict[str, Any]:
        """Return the response to request 1007 (GET_BROKER_EPOCH_CACHE)."""
        found: dict[str, Any] = ask(self.address, RequestCode.GET_BROKER_EPOCH_CACHE)
        return found

    def end(self) -> int:
        """Return the end offset of the log."""
        return int(self.epochs()["maxOffset"])

    def log(self, end: int) -> bytes:
        """Return the bytes of the log from its beginning to `end`."""
        files = sorted((self.store / "commitlog").iterdir())
        assert int(files[0].name) == 0
        return b"".join(file.read_bytes() for file in files)[:end]

    def knows(self, topic: str) -> bool:
        """Return True if the broker's tables have a topic."""
        try:
            return topic in ask(self.address, RequestCode.GET_ALL_TOPIC_CONFIG)["topicConfigTable"]
        except OSError:
            return False


def ask(
    address: str, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"", seconds: float = 5
) -> Any:
    """Return the JSON of a response. Raises `OSError` without one, `AssertionError` for a refusal."""
    with RawConnection(address) as connection:
        answer = connection.ask(code, fields, body, seconds=seconds)
    if answer is None:
        raise TimeoutError(f"{address} does not answer {code}")
    assert answer.code == 0, f"{code}: {answer.code} {answer.remark}"
    return loads(answer.body) if answer.body else {}


class ControlledGroup:
    """Controllers, a name server, and brokers of these kinds in one set; entering it starts all of them.

    `own_settings` are those of each broker.
    """

    def __init__(
        self,
        folder: Path,
        group: str,
        kinds: Sequence[str],
        settings: Settings | None = None,
        *,
        namesrv: str = "ours",
        controller_settings: Settings | None = None,
        own_settings: Sequence[Settings] = (),
    ) -> None:
        self._stack = ExitStack()
        self._group = group
        self._folder = folder
        self._controller_settings = controller_settings
        self._own_settings = own_settings
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        make = apache_namesrv if namesrv == "apache" else our_namesrv
        self._namesrv = make(folder / "namesrv", port)
        self._settings = {**SETTINGS, **(settings or {})}
        self._kinds = kinds
        self.controllers: list[Controller] = []
        self.members: list[Member] = []
        self.acknowledged: dict[str, Acknowledged] = {}
        self.reigns = Reigns(self.state)
        self.lost_alone: list[Loss] = []
        """Messages that Apache's masters acknowledged alone and that are in no log."""
        self._numbers = itertools.count(1)

    def _make_controllers(self) -> list[Controller]:
        folder, settings = self._folder / "controllers", self._controller_settings
        if self._group.startswith("apache"):
            return apache_controllers(folder, 3 if self._group == "apache-3" else 1, settings)
        if self._group == "file":
            port = free_ports()
            peers = {"controllerDLegerGroup": "g1", "controllerDLegerPeers": f"n0-{HOST}:{port}"}
            return [our_controller(folder / "n0", port, {**peers, **(settings or {})})]
        place = self._stack.enter_context(EtcdCluster(self._folder / "etcd", 1))
        return controllers(folder, [place.endpoints] * 2, settings)

    def __enter__(self) -> ControlledGroup:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def _start(self) -> None:
        self.controllers = self._make_controllers()
        for one in self.controllers:
            self._stack.callback(one.part.kill9)
            one.part.start()
        self._stack.callback(self._namesrv.kill9)
        self._namesrv.start()
        wait_until(lambda: self.leader() is not None, 60, "a controller leads")
        self._stack.enter_context(self.reigns)
        addresses = {"controllerAddr": ";".join(one.address for one in self.controllers)}
        for number, kind in enumerate(self._kinds):
            own = self._own_settings[number] if self._own_settings else {}
            settings = {**self._settings, **addresses, **own}
            member = Member(kind, self._folder / f"b{number}", self.namesrv_address, settings)
            self.members.append(member)
            self._stack.callback(member.kill)
            member.start()
            wait_until(lambda: len(self.in_sync()) == len(self.members), 90, f"{member} is in sync")
        if self.members:
            self.create(TOPIC)

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def create(self, topic: str) -> None:
        """Create a topic of one queue; wait until all members know it and it has a route."""
        fields = {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1"}
        fields |= {"perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
        ask(self.master().address, RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
        wait_until(lambda: all(one.knows(topic) for one in self.members), 60, f"all know {topic}")
        wait_until(lambda: self.routed(topic) is not None, 60, f"{topic} has a route")

    # State of controllers and name server.

    def leader(self) -> Controller | None:
        """Return the leading controller, or None."""
        for one in self.controllers:
            try:
                with RawConnection(one.address) as connection:
                    answer = connection.ask(RequestCode.CONTROLLER_GET_METADATA_INFO, seconds=2)
            except OSError:
                continue
            if answer is not None and answer.ext_fields.get("isLeader") == "true":
                return one
        return None

    def state(self) -> dict[str, Any]:
        """Return the set's state from the leading controller; empty without a leader or a known set."""
        leader = self.leader()
        if leader is None:
            return {}
        try:
            found = ask(leader.address, RequestCode.CONTROLLER_GET_SYNC_STATE_DATA, None, b'["brk"]')
        except (OSError, AssertionError):
            return {}
        known: dict[str, Any] = found.get("replicasInfoTable", {}).get(SET, {})
        return known

    def in_sync(self) -> set[str]:
        """Return the addresses of in-sync members that are alive; empty while there is no master."""
        state = self.state()
        if not state.get("masterAddress"):
            return set()
        return {one["brokerAddress"] for one in state["inSyncReplicas"] if one["alive"]}

    def master(self) -> Member:
        """Return the master by the controller's state."""
        found: list[Member] = []

        def looked() -> bool:
            address = self.state().get("masterAddress")
            found[:] = [one for one in self.members if one.address == address]
            return bool(found)

        wait_until(looked, 60, "there is a master")
        return found[0]

    def others(self, member: Member) -> list[Member]:
        """Return all other members."""
        return [one for one in self.members if one is not member]

    def routed(self, topic: str = TOPIC) -> str | None:
        """Return the master's address in the name server's route, or None."""
        try:
            found = ask(self.namesrv_address, RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, b"", 2)
        except (OSError, AssertionError):
            return None
        addresses = [one["brokerAddrs"] for one in found["brokerDatas"] if one["brokerName"] == SET]
        return next((one.get("0", one.get(0)) for one in addresses), None)

    def elect(self, member: Member) -> int:
        """Elect this member as an operator does; return the response code."""
        numbers = {
            one["brokerAddress"]: one["brokerId"]
            for part in ("inSyncReplicas", "notInSyncReplicas")
            for one in self.state().get(part) or ()
        }
        leader = self.leader()
        assert leader is not None
        fields = {"clusterName": CLUSTER, "brokerName": SET, "brokerId": str(numbers[member.address])}
        fields |= {"designateElect": "true", "invokeTime": str(int(time.time() * 1000))}
        with RawConnection(leader.address) as connection:
            answer = connection.ask(RequestCode.CONTROLLER_ELECT_MASTER, fields)
        assert answer is not None
        return answer.code

    def lead(self, member: Member) -> None:
        """Make this member master, and wait until all others follow it."""
        if self.master() is not member:
            assert self.elect(member) == 0
        self.wait_until_whole()

    # Messages.

    def body(self) -> str:
        """Return a new body."""
        number = next(self._numbers)
        return f"m{number}:" + "x" * (number * 37 % 2000)

    def send(self, address: str, seconds: float = SEND_SECONDS) -> int | None:
        """Send a message to a broker; return the response code, None without a response."""
        try:
            with RawConnection(address) as connection:
                return self.send_on(connection, address, seconds)
        except OSError:
            return None

    def send_on(self, connection: RawConnection, address: str, seconds: float = SEND_SECONDS) -> int | None:
        """Send a message on a connection; return the response code, or None. Raises `OSError`."""
        body = self.body()
        answer = connection.ask(
            RequestCode.SEND_MESSAGE_V2, send_fields(TOPIC), body.encode(), seconds=seconds
        )
        if answer is None:
            return None
        if answer.code == 0:
            offset = int(answer.ext_fields["queueOffset"])
            place = int(answer.ext_fields["msgId"][-16:], 16)
            self.acknowledged[body] = Acknowledged(offset, time.monotonic(), address, place)
        return answer.code

    def load(self) -> Load:
        """Return a load, which sends while it is entered."""
        return Load(self)

    # The end of a scenario.

    def wait_until_whole(self, seconds: float = WHOLE_SECONDS) -> None:
        """Wait until all members are in sync, the name server has the master, and a send succeeds."""
        everybody = {one.address for one in self.members}
        wait_until(lambda: self.in_sync() == everybody, seconds, "everybody is in sync", 0.3)
        master = self.master().address
        wait_until(lambda: self.routed() == master, seconds, "the name server knows the master", 0.3)
        wait_until(lambda: self.send(master) == 0, seconds, "the master acknowledges", 0.3)

    def check(self) -> None:
        """Check that all logs and epochs are equal and contain all acknowledged messages."""
        self.wait_until_whole()
        wait_until(lambda: len({one.end() for one in self.members}) == 1, 30, "all logs end in one place")
        end = self.members[0].end()
        logs = [one.log(end) for one in self.members]
        lists = [[(e["epoch"], e["startOffset"]) for e in one.epochs()["epochList"]] for one in self.members]
        self._judge(self.lost(logs[0]), lists[0])
        for one, log in zip(self.members, logs, strict=True):
            assert log == logs[0], f"the log of {one} differs from that of {self.members[0]}"
        assert all(one == lists[0] for one in lists), f"epochs differ: {lists}"

    def _judge(self, lost: Mapping[str, Acknowledged], epochs: Sequence[tuple[int, int]]) -> None:
        """Fail for each lost message, unless Apache's master is proved to have acknowledged it alone."""
        kinds = {member.address: member.kind for member in self.members}
        losses = [self.reigns.loss(body, kinds[one.by], one, epochs) for body, one in lost.items()]
        alone = [one for one in losses if one.is_apaches_alone]
        self.lost_alone += alone
        for one in alone:
            del self.acknowledged[one.body]
            print(f"lost, as Apache's master was alone: {one}")
        reported = [str(one) for one in losses if not one.is_apaches_alone]
        assert not reported, (
            f"{len(reported)} of {len(self.acknowledged)} are lost: {reported[:5]}; {self.reigns.all}"
        )

    def lost(self, log: bytes) -> dict[str, Acknowledged]:
        """Return the acknowledged messages that are not in a log at their acknowledged offset."""
        found = messages(log)
        return {body: one for body, one in self.acknowledged.items() if one.offset not in found.get(body, ())}


def send_fields(topic: str) -> dict[str, str]:
    """Return the header of a send to the first queue."""
    fields = {"a": "producers", "b": topic, "c": "TBW102", "d": "1", "e": "0", "f": "0"}
    fields |= {"g": str(int(time.time() * 1000)), "h": "0", "i": "", "j": "0", "k": "false", "m": "false"}
    return fields


def messages(log: bytes) -> dict[str, set[int]]:
    """Return the bodies in a log of files of 1 MiB, each with its queue offsets."""
    found: dict[str, set[int]] = {}
    at = 0
    while at < len(log):
        size, magic = struct.unpack_from(">iI", log, at)
        if magic != BLANK_MAGIC & 0xFFFFFFFF:
            message = decode(log, at)
            if message.topic == TOPIC:
                found.setdefault(message.body.decode(), set()).add(message.queue_offset)
        at += size
    return found


class Load:
    """Senders that query the route after every failure.

    `acks` has the times of acknowledgements, `codes` the other response codes.
    """

    def __init__(self, group: ControlledGroup) -> None:
        self._group = group
        self._is_over = False
        self.acks: list[float] = []
        self.codes: list[int | None] = []
        self._threads = [threading.Thread(target=self._run, name="load", daemon=True) for _ in range(SENDERS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        self.wait_for(50)
        return self

    def __exit__(self, *failure: object) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join(30)

    def wait_for(self, count: int, seconds: float = 120) -> None:
        """Wait until `count` more messages are acknowledged."""
        before = len(self.acks)
        wait_until(
            lambda: len(self.acks) >= before + count, seconds, f"sends succeed: {self.codes[-5:]}", 0.02
        )

    def _run(self) -> None:
        while not self._is_over:
            address = self._group.routed()
            if address is None:
                time.sleep(0.1)
                continue
            try:
                with RawConnection(address) as connection:
                    self._send_all(connection, address)
            except OSError:
                self.codes.append(None)
            time.sleep(0.05)

    def _send_all(self, connection: RawConnection, address: str) -> None:
        while not self._is_over:
            code = self._group.send_on(connection, address)
            if code != 0:
                self.codes.append(code)
                return
            self.acks.append(time.monotonic())
            time.sleep(BETWEEN_SENDS)
