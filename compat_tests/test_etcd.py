"""Our controllers on a real etcd, of one server and of three: killed, stopped, cut off, compacted, with TLS.

While a scenario runs a watcher queries all controllers repeatedly for the leader. It detects two controllers
that claim to lead at the same time: within a lease two cannot lead alternately.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from compat_tests.support.etcd import Cable, Controller, EtcdCluster, Http, controllers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, ROOT, apache_broker, our_namesrv
from mqgateway.engine.controller.key_values import Unanswered
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.remoting.tls import self_signed
from tests.support.engine.controller.place_contract import check_place

pytestmark = pytest.mark.overlap

LEASE = 5
SETS = "/mqgateway/controller/g1/sets/"


def ask(one: Controller, code: int, fields: dict[str, str], body: bytes = b"") -> tuple[int, dict[str, str]]:
    """Return code and fields of an answer; -1 if there is none."""
    try:
        with RawConnection(one.address) as connection:
            answer = connection.ask(code, fields, body, seconds=2)
    except OSError:
        return -1, {}
    return (-1, {}) if answer is None else (answer.code, dict(answer.ext_fields))


def leads(one: Controller) -> bool:
    return ask(one, RequestCode.CONTROLLER_GET_METADATA_INFO, {})[1].get("isLeader") == "true"


def leader_of(group: list[Controller], seconds: float = 30) -> Controller:
    """Return the leading controller; wait until one leads."""
    found: list[Controller] = []

    def looked() -> bool:
        found[:] = [one for one in group if leads(one)]
        return bool(found)

    wait_until(looked, seconds, "a controller leads")
    return found[0]


def info(one: Controller) -> tuple[int, dict[str, str]]:
    """Return the master of brk, as this controller reports it."""
    return ask(one, RequestCode.CONTROLLER_GET_REPLICA_INFO, {"brokerName": "brk"})


def add(one: Controller, number: int) -> int:
    """Apply for the id of a replica of brk; return the answer's code."""
    named = {"clusterName": "CL", "brokerName": "brk", "appliedBrokerId": str(number)}
    named |= {"registerCheckCode": f"{HOST}:{number};1"}
    return ask(one, RequestCode.CONTROLLER_APPLY_BROKER_ID, named)[0]


def make_set(one: Controller) -> None:
    """Register replicas 1 and 2 of brk and make the first one master."""
    assert [add(one, number) for number in (1, 2)] == [0, 0]
    first = {"clusterName": "CL", "brokerName": "brk", "brokerId": "1", "designateElect": "false"}
    assert ask(one, RequestCode.CONTROLLER_ELECT_MASTER, first)[0] == 0


class Watcher:
    """Recorder of the controllers that claimed to lead, with the times."""

    def __init__(self, group: list[Controller]) -> None:
        self._group = group
        self._is_over = False
        self.said: list[tuple[float, float, str]] = []
        self._threads = [threading.Thread(target=self._watch, args=(one,), daemon=True) for one in group]

    def _watch(self, one: Controller) -> None:
        while not self._is_over:
            asked = time.monotonic()
            if leads(one):
                self.said.append((asked, time.monotonic(), one.address))
            time.sleep(0.05)

    def __enter__(self) -> Watcher:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join(10)
        if failure[0] is None:
            self.check()

    def check(self) -> None:
        """Check that no other controller leads between two claims of a leader less than a lease apart."""
        assert self.said
        for address in {who for _, _, who in self.said}:
            own = sorted(one for one in self.said if one[2] == address)
            for (asked, _, _), (_, answered, _) in pairwise(own):
                if answered - asked < LEASE * 0.8:
                    between = [one for one in self.said if asked < one[0] and one[1] < answered]
                    assert {who for _, _, who in between} <= {address}, "two lead"


@contextmanager
def running(group: list[Controller]) -> Iterator[list[Controller]]:
    try:
        for one in group:
            one.part.start()
        yield group
    finally:
        for one in group:
            one.part.kill9()


def test_etcd_keeps_the_contract_of_controllers(tmp_path: Path) -> None:
    """The model of etcd that unit tests and simulations use is checked by the same contract."""
    with EtcdCluster(tmp_path, 1) as place:
        http = Http(place.endpoints)
        check_place(http, "/contract/")
        lease = http.grant(2)
        time.sleep(3.5)
        assert lease.seconds == 2 and http.keep(lease.number).seconds == 0
        for version in ("v3", "v3beta"):
            assert http.ask("lease/grant", {"TTL": "5"}, version)["TTL"] == "5"


def test_one_controller_outlives_kills_restarts_of_etcd_and_compaction(tmp_path: Path) -> None:
    with EtcdCluster(tmp_path, 1) as place, running(controllers(tmp_path, [place.endpoints])) as group:
        (only,) = group
        leader_of(group)
        make_set(only)
        before = info(only)
        assert before[1]["masterBrokerId"] == "1"

        only.part.kill9()
        only.part.start()
        leader_of(group, LEASE + 5)
        assert info(only) == before

        (node,) = place.nodes
        http = Http(node.url)
        revision = http.ask("kv/range", {"key": "YQ=="})["header"]["revision"]
        http.ask("kv/compaction", {"revision": revision, "physical": True})
        http.ask("maintenance/defragment", {})
        assert add(only, 3) == 0
        assert leads(only) and info(only)[1] == before[1]

        node.kill9()
        wait_until(lambda: not leads(only), LEASE, "nobody leads without etcd")
        assert info(only)[0] == 2007
        place.restart(node)
        leader_of(group, 3 * LEASE)
        assert info(only) == before


def test_three_controllers_go_on_or_stop_answering_and_never_both(tmp_path: Path) -> None:
    with (
        EtcdCluster(tmp_path, 3) as place,
        running(controllers(tmp_path, [place.endpoints] * 3)) as group,
        Watcher(group) as watcher,
    ):
        leader = leader_of(group)
        make_set(leader)
        before = info(leader)
        others = [one for one in group if one is not leader]
        assert [info(one)[0] for one in others] == [2007, 2007]

        # One server of etcd dies, the one that leads it: the controller continues.
        dead = place.leader()
        dead.kill9()
        time.sleep(2 * LEASE)
        assert leader_of(group, 1) is leader and info(leader) == before
        place.restart(dead)

        # One hangs.
        hanging = place.leader()
        hanging.pause()
        time.sleep(2 * LEASE)
        assert info(leader_of(group)) == before
        hanging.resume()

        # Two hang: there is no majority, and no controller answers.
        leader = leader_of(group)
        for node in place.nodes[:2]:
            node.pause()
        time.sleep(LEASE)
        assert [info(one)[0] for one in group] == [2007] * 3
        for node in place.nodes[:2]:
            node.resume()
        leader = leader_of(group)
        assert info(leader) == before

        # The controller that leads hangs: another one leads, and the first one sees it when it wakes up.
        stop_process(leader, "STOP")
        others = [one for one in group if one is not leader]
        next_one = leader_of(others, LEASE + 5)
        assert info(next_one) == before
        stop_process(leader, "CONT")
        assert info(leader)[0] == 2007
        assert add(next_one, 3) == 0

        # It dies, and so does the next one.
        for one in (leader, next_one):
            one.part.kill9()
        last = leader_of([one for one in group if one not in (leader, next_one)], LEASE + 5)
        code, found = info(last)
        assert (code, found["masterEpoch"]) == (0, before[1]["masterEpoch"])
    assert len({who for _, _, who in watcher.said}) >= 2


def stop_process(one: Controller, name: str) -> None:
    subprocess.run(["kill", f"-{name}", str(one.part.pid)], check=True)


def test_controller_cut_off_from_etcd_stops_before_another_leads(tmp_path: Path) -> None:
    with EtcdCluster(tmp_path, 1) as place:
        (node,) = place.nodes
        cables = [Cable(node.port) for _ in range(2)]
        endpoints = [f"http://{HOST}:{cable.port}" for cable in cables]
        with running(controllers(tmp_path, endpoints)) as group, Watcher(group):
            leader = leader_of(group)
            make_set(leader)
            before = info(leader)
            for _ in range(2):
                number = group.index(leader)
                cables[number].cut()
                other = group[1 - number]
                leader_of([other], 2 * LEASE)
                assert info(leader)[0] == 2007 and info(other) == before
                cables[number].mend()
                leader = other
        for cable in cables:
            cable.close()


def test_late_write_of_a_former_leader_changes_nothing(tmp_path: Path) -> None:
    """A write that arrives after another controller has begun to lead."""
    with EtcdCluster(tmp_path, 1) as place:
        (node,) = place.nodes
        cable = Cable(node.port)
        endpoints = [f"http://{HOST}:{cable.port}", node.url]
        with running(controllers(tmp_path, endpoints)) as group:
            first, second = group
            if leader_of(group) is second:
                second.part.stop()
                leader_of([first], 2 * LEASE)
                second.part.start()
            make_set(first)
            cable.cut()
            assert add(first, 9) != 0
            leader_of([second], 2 * LEASE)
            before = info(second)
            cable.mend()
            time.sleep(2)
            assert info(second) == before and not leads(first)
            named = {"clusterName": "CL", "brokerName": "brk"}
            next_id = ask(second, RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, named)
            assert next_id[1]["nextBrokerId"] == "3"
        cable.close()


def test_etcd_with_client_certificates(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    more = [f"--cert-file={cert}", f"--key-file={key}", "--client-cert-auth", f"--trusted-ca-file={cert}"]
    with EtcdCluster(tmp_path, 1, more, "https") as place:
        believes = {"controllerEtcdCaFile": str(cert)}
        shows = {"controllerEtcdCertFile": str(cert), "controllerEtcdKeyFile": str(key)}
        with running(controllers(tmp_path / "good", [place.endpoints], believes | shows)) as group:
            leader_of(group)
            make_set(group[0])
        for number, settings in enumerate((believes, shows)):
            with running(controllers(tmp_path / f"bad{number}", [place.endpoints], settings)) as group:
                time.sleep(LEASE + 2)
                assert not leads(group[0])


def test_etcd_with_users(tmp_path: Path) -> None:
    """With client certificates at the same time etcd refuses every call over HTTP."""
    cert, key = certificate(tmp_path)
    context = ssl.create_default_context(cafile=str(cert))
    with EtcdCluster(tmp_path, 1, [f"--cert-file={cert}", f"--key-file={key}"], "https") as place:
        root = Http(place.endpoints, context=context)
        for name, password in (("root", "r"), ("mqgateway", "secret")):
            root.ask("auth/user/add", {"name": name, "password": password})
        root.ask("auth/user/grant", {"user": "root", "role": "root"})
        root.ask("auth/role/add", {"name": "controllers"})
        # Keys from /mqgateway/controller/ to before /mqgateway/controller0.
        permission = {
            "permType": "READWRITE",
            "key": "L21xZ2F0ZXdheS9jb250cm9sbGVyLw==",
            "range_end": "L21xZ2F0ZXdheS9jb250cm9sbGVyMA==",
        }
        root.ask("auth/role/grant", {"name": "controllers", "perm": permission})
        root.ask("auth/user/grant", {"user": "mqgateway", "role": "controllers"})
        root.ask("auth/enable", {})
        with pytest.raises(Unanswered):
            root.ask("kv/range", {"key": "YQ=="})
        settings = {
            "controllerEtcdUser": "mqgateway",
            "controllerEtcdPassword": "secret",
            "controllerEtcdCaFile": str(cert),
        }
        with running(controllers(tmp_path, [place.endpoints], settings)) as group:
            leader_of(group)
            make_set(group[0])
            assert info(group[0])[1]["masterBrokerId"] == "1"
            time.sleep(2 * LEASE)
            assert leads(group[0])


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a self-signed certificate of this host and its key, as files."""
    key, made = self_signed(HOST)
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def test_sets_are_kept_readable(tmp_path: Path) -> None:
    """The keys are readable with etcdctl."""
    with EtcdCluster(tmp_path, 1) as place, running(controllers(tmp_path, [place.endpoints])) as group:
        make_set(leader_of(group))
        command = ["etcdctl", "--endpoints", place.endpoints, "get", "--prefix", SETS]
        said = subprocess.run(command, capture_output=True, check=True, timeout=30, env={"ETCDCTL_API": "3"})
        name, value = said.stdout.decode().splitlines()
        assert name == f"{SETS}brk" and json.loads(value)["masterBrokerId"] == 1


@pytest.mark.both_servers
def test_apaches_brokers_go_on_when_the_controller_that_leads_is_killed_with_their_master(
    tmp_path: Path,
) -> None:
    """Two brokers of Apache's in controller mode, two controllers of ours."""
    port = free_ports()
    namesrv = our_namesrv(tmp_path / "namesrv", port)
    with EtcdCluster(tmp_path, 1) as place, running(controllers(tmp_path, [place.endpoints] * 2)) as group:
        addresses = ";".join(one.address for one in group)
        settings = {"brokerName": "brk", "enableControllerMode": "true", "controllerAddr": addresses}
        settings |= {"allAckInSyncStateSet": "true"}
        where = f"{HOST}:{port}"
        brokers = [
            apache_broker(tmp_path / f"b{number}", free_ports((-2, 0, 1)), where, settings)
            for number in range(2)
        ]
        try:
            namesrv.start()
            leader = leader_of(group)
            brokers[0].start()
            wait_until(lambda: info(leader)[1].get("masterBrokerId") == "1", 60, "the first broker is master")
            brokers[1].start()
            wait_until(lambda: in_sync(where, addresses) == [True, True], 60, "both are in sync")
            brokers[0].kill9()
            leader.part.kill9()
            other = next(one for one in group if one is not leader)
            began = time.monotonic()
            wait_until(lambda: info(other)[1].get("masterBrokerId") == "2", 60, "the second one is master")
            assert time.monotonic() - began < LEASE + 10
            brokers[0].start()
            wait_until(lambda: in_sync(where, addresses) == [True, True], 60, "the first one is back")
            assert info(other)[1]["masterBrokerId"] == "2"
        finally:
            for part in (*brokers, namesrv):
                part.kill9()


def in_sync(namesrv: str, addresses: str) -> list[bool]:
    """Return for each member of brk if it is in sync, by `mqgateway cluster status`."""
    program = "from mqgateway.gateway.cli.main import main; main()"
    command = [sys.executable, "-c", program, "cluster", "status", "-n", namesrv, "--json"]
    said = subprocess.run(
        [*command, "--controller", addresses], capture_output=True, timeout=30, cwd=ROOT, check=False
    )
    groups = json.loads(said.stdout)["groups"] if said.stdout else []
    return [member["inSync"] for group in groups for member in group["members"]]
