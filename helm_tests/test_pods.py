"""Clusters of the chart's examples, with processes on loopback addresses as pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from compat_tests.support.etcd import EtcdCluster
from compat_tests.support.processes import wait_until
from helm_tests.chart import CHART, template
from helm_tests.kubelet import Cluster, Pod
from mqgateway import ClientError, Message, Producer
from mqgateway.gateway.remoting.tls import pem_of, self_signed

USER = {"username": "root", "password": "root's own"}
INNER = {"accessKey": "inner", "secretKey": "between servers"}
SIGNED = {"ROCKETMQ_ACCESS_KEY": USER["username"], "ROCKETMQ_SECRET_KEY": USER["password"]}
CHANGE_SECONDS = 30
REGISTRATION_SECONDS = 60
"""Twice the `registerNameServerPeriod`."""

Start = Callable[..., Cluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a cluster of an example, with further arguments for Helm."""
    started: list[Cluster] = []

    def begin(example: str, *words: str, secrets: Mapping[str, Mapping[str, str]] | None = None) -> Cluster:
        done = template("--values", CHART / "examples" / f"{example}.yaml", *words)
        assert done.returncode == 0, done.stderr
        cluster = Cluster(done.stdout, tmp_path, secrets)
        started.append(cluster)
        cluster.start()
        cluster.wait_until_ready()
        return cluster

    yield begin
    for cluster in started:
        cluster.end()


def name_servers(cluster: Cluster) -> str:
    return ";".join(f"{pod.address}:9876" for pod in cluster.named("-nameserver-"))


def test_a_minimal_cluster_takes_messages(start: Start) -> None:
    cluster = start("minimal")
    [broker] = cluster.named("-broker-")
    assert cluster.brokers() == {"broker-0": {"0": f"{broker.address}:10911"}}
    cluster.mqadmin("updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "2", "-w", "2")
    with Producer("p", name_servers(cluster)) as producer:
        assert producer.send(Message("T", "hello")).queue.broker_name == "broker-0"
    # The settings are in a ConfigMap, which is read-only: a change lasts until the pod ends.
    before = (broker.folder / "config" / f"{broker.name}.conf").read_text()
    cluster.mqadmin(
        "updateBrokerConfig", "-b", f"{broker.address}:10911", "-k", "slaveReadEnable", "-v", "true"
    )
    assert (broker.folder / "config" / f"{broker.name}.conf").read_text() == before
    assert cluster.test.run().returncode == 0
    broker.stop()
    done = cluster.test.run()
    assert done.returncode == 1 and "broker-0 has no master" in done.stderr
    for pod in cluster.named("-nameserver-"):
        pod.stop()


def test_each_group_has_its_master_and_slave_and_stops_one_after_the_other(start: Start) -> None:
    cluster = start("replicas", "--set", "broker.drainTimeoutMillis=20000")
    brokers = {pod.name.removeprefix("rocketmq-mqgateway-broker-"): pod for pod in cluster.named("-broker-")}
    expected = {
        f"broker-{group}": {str(number): f"{brokers[f'{group}-{number}'].address}:10911" for number in (0, 1)}
        for group in (0, 1)
    }
    # A broker is ready once it is registered with one name server; late ones get the next heartbeat.
    wait_until(lambda: cluster.brokers() == expected, REGISTRATION_SECONDS, "all are known")
    assert cluster.test.run().returncode == 0
    cluster.mqadmin("updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "2", "-w", "2")
    with Producer("p", name_servers(cluster), poll_name_server_interval=500) as producer:
        # In the order of a rolling update: the slave, then its master, which is drained of producers first.
        for name in ("0-1", "0-0"):
            pod = brokers[name]
            pod.stop()
            # The master waits for its slave until the name servers no longer name it.
            wait_until(lambda: reaches_all_queues(producer), REGISTRATION_SECONDS, "sends succeed")
            for _ in range(20):
                producer.send(Message("T", "while it is away"))
            pod.start()
            cluster.wait_until_ready([pod])
    wait_until(lambda: cluster.brokers() == expected, REGISTRATION_SECONDS, "all are back")


def reaches_all_queues(producer: Producer) -> bool:
    """Return True if messages in turn to two queues of two brokers are accepted."""
    return all(is_sent(producer, "while it leaves") for _ in range(4))


def is_sent(producer: Producer, text: str) -> bool:
    """Return True if the broker accepts a message, which needs enough replicas in sync."""
    try:
        producer.send(Message("T", text))
    except ClientError:
        return False
    return True


def masters(cluster: Cluster) -> dict[str, str]:
    """Return the address of each group's master."""
    return {name: members["0"] for name, members in cluster.brokers().items() if "0" in members}


def test_controllers_elect_another_master_and_a_pod_comes_back_elsewhere(
    start: Start, tmp_path: Path
) -> None:
    with EtcdCluster(tmp_path / "etcd", 1) as etcd:
        endpoints = etcd.endpoints.replace(";", r"\,")
        cluster = start(
            "controller",
            *("--set", f"controller.etcd.endpoints={{{endpoints}}},controller.etcd.existingSecret="),
            *(
                "--set",
                "controller.etcd.tls.existingSecret=,broker.size.master=1,broker.drainTimeoutMillis=20000",
            ),
        )
        by_address = {f"{pod.address}:10911": pod for pod in cluster.named("-broker-")}
        wait_until(lambda: "broker-0" in masters(cluster), REGISTRATION_SECONDS, "the election is known")
        cluster.mqadmin("updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "2", "-w", "2")
        first: Pod = by_address[masters(cluster)["broker-0"]]
        with Producer("p", name_servers(cluster), poll_name_server_interval=500) as producer:
            wait_until(lambda: is_sent(producer, "before"), CHANGE_SECONDS, "replicas are in sync")
            seconds = first.stop()
            wait_until(
                lambda: masters(cluster).get("broker-0") not in (None, f"{first.address}:10911"),
                5,
                "succession",
            )
            wait_until(lambda: is_sent(producer, "after"), CHANGE_SECONDS, "replicas are in sync again")
        assert seconds < 20
        # The new pod has another address, and the old one's volume.
        first.address = "127.0.77.99"
        first.start()
        cluster.wait_until_ready([first])
        address = f"{first.address}:10911"
        wait_until(
            lambda: address in cluster.brokers()["broker-0"].values(), REGISTRATION_SECONDS, "it is known"
        )
        assert len(cluster.brokers()["broker-0"]) == 3
        code, text = cluster.named("-controller-")[0].probe("readinessProbe")
        assert code == 200 and json.loads(text)["ready"]


def test_cluster_with_access_control_and_tls_accepts_known_users(start: Start, tmp_path: Path) -> None:
    key, certificate = (part.decode() for part in pem_of(*self_signed("rocketmq")))
    secrets = {
        "rocketmq-tls": {"tls.crt": certificate, "tls.key": key, "ca.crt": certificate},
        "rocketmq-auth": {
            "initAuthenticationUser": json.dumps(USER),
            "innerClientAuthenticationCredentials": json.dumps(INNER),
            "authKey": "A" * 43 + "=",
            **USER,
        },
    }
    cluster = start("secure", secrets=secrets)
    authority = tmp_path / "ca.crt"
    authority.write_text(certificate)
    tls = ("--tls-ca", str(authority))
    assert len(cluster.brokers(*tls, env=SIGNED)["broker-0"]) == 2
    with pytest.raises(AssertionError, match="cannot be null"):
        cluster.brokers(*tls)
    with pytest.raises(AssertionError):
        cluster.brokers(env=SIGNED)
    assert cluster.test.run().returncode == 0
    for pod in cluster.pods.values():
        assert USER["password"] not in pod.log.read_text()
        for path in pod.folder.rglob("users.json"):
            assert USER["password"] not in path.read_text()
