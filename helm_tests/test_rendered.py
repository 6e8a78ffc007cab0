"""The chart under Helm itself: lint, rendered values, and refused values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from helm_tests.chart import (
    CHART,
    EXAMPLES,
    KUBERNETES,
    RENDERED,
    ROOT,
    call,
    rendered,
    template,
    without_files,
)
from tests.packaging.objects import validate


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_rendered_files_are_those_of_helm(path: Path) -> None:
    """Run `python -m helm_tests.chart` to update the rendered files."""
    assert without_files(rendered(path)) == (RENDERED / path.name).read_text()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_helm_finds_nothing_wrong(path: Path) -> None:
    done = call("lint", "--strict", *KUBERNETES, CHART, "--values", path)
    assert done.returncode == 0, done.stdout + done.stderr


def objects(*words: str) -> list[dict[str, Any]]:
    done = template(*words)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def test_dashboards_and_alerts_are_the_projects_own() -> None:
    example = next(path for path in EXAMPLES if path.stem == "controller")
    found = {
        (one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(rendered(example)) if one
    }
    dashboards = found["ConfigMap", "rocketmq-mqgateway-dashboards"]["data"]
    native = ROOT / "dashboards" / "mqgateway-native.json"
    assert json.loads(dashboards["mqgateway-native.json"]) == json.loads(native.read_text())
    rules = yaml.safe_load((ROOT / "dashboards" / "rules.yml").read_text())
    assert found["PrometheusRule", "rocketmq-mqgateway-native"]["spec"] == rules


def test_both_sets_of_metrics_are_scraped() -> None:
    switches = [
        f"metrics.{part}enabled=true" for part in ("", "serviceMonitor.", "prometheusRule.", "dashboards.")
    ]
    words = [word for switch in switches for word in ("--set", switch)]
    found = objects(*words, "--set", "metrics.sets={native,exporter}")
    [monitor] = [one for one in found if one["kind"] == "ServiceMonitor"]
    assert [one.get("params") for one in monitor["spec"]["endpoints"]] == [None, {"set": ["exporter"]}]
    rules = [one["metadata"]["name"] for one in found if one["kind"] == "PrometheusRule"]
    assert rules == ["rocketmq-mqgateway-native", "rocketmq-mqgateway-exporter"]


def test_everything_at_once_is_still_right() -> None:
    """Values that no example has."""
    found = objects(
        *("--set", "auth.enabled=true,auth.password=p,auth.innerSecretKey=s,broker.size.master=2"),
        *("--set", "auth.authKey=" + "A" * 43 + "="),
        *("--set", "tls.enabled=true,tls.existingSecret=it,tls.clientAuth=require"),
        *("--set", "nameserver.service.type=NodePort,nameserver.service.nodePort=30876"),
        *("--set", "nameserver.persistence.storageClass=-,imagePullSecrets[0].name=it"),
        *("--set", "broker.updateStrategy.type=OnDelete,broker.priorityClassName=high"),
        *("--set", "broker.extraVolumes[0].name=acl,broker.extraVolumes[0].secret.secretName=acl"),
        *("--set", "broker.extraVolumeMounts[0].name=acl,broker.extraVolumeMounts[0].mountPath=/etc/acl"),
        *(
            "--set",
            "broker.livenessProbe.periodSeconds=30,broker.extraEnv[0].name=A,broker.extraEnv[0].value=b",
        ),
        *("--set", "controller.enabled=true,controller.etcd.endpoints={http://a:2379,http://b:2379}"),
        *("--set", "controller.etcd.tls.existingSecret=it,controller.etcd.tls.clientCertificate=true"),
        *("--set", "serviceAccount.create=false,broker.podAntiAffinityPreset=none,broker.hostNetwork=true"),
    )
    for one in found:
        validate(one)
    [secret] = [one for one in found if one["kind"] == "Secret"]
    user = json.loads(secret["stringData"]["initAuthenticationUser"])
    assert user == {"username": "root", "password": "p"}


def test_a_group_that_is_held_back_keeps_its_pods() -> None:
    found = objects(
        "--set", "broker.size.master=3,broker.size.replica=1,broker.updateStrategy.groupPartition=2"
    )
    groups = [one for one in found if one["kind"] == "StatefulSet" and "-broker-" in one["metadata"]["name"]]
    assert [one["spec"]["updateStrategy"]["rollingUpdate"]["partition"] for one in groups] == [2, 2, 0]


def test_numbers_are_written_as_they_were_given() -> None:
    given = "broker.config.mappedFileSizeCommitLog=1073741824,broker.config.maxErrorRateOfBloomFilter=20"
    found = objects("--set", given, "--set-string", "broker.config.metricsLabel=a:b\\\\c")
    [conf] = [
        one for one in found if one["metadata"]["name"] == "rocketmq-mqgateway-broker-0" and "data" in one
    ]
    lines = conf["data"]["rocketmq-mqgateway-broker-0-0.conf"].splitlines()
    assert {
        "mappedFileSizeCommitLog=1073741824",
        "maxErrorRateOfBloomFilter=20",
        "metricsLabel=a:b\\\\c",
    } <= set(lines)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("broker.size.replicas=1", "replicas"),
        ("broker.size.master=0", "/broker/size/master"),
        ("broker.master.brokerRole=SLAVE", "/broker/master/brokerRole"),
        ("broker.config.brokerName=it", "broker.config.brokerName: the chart sets it itself"),
        (
            "controller.enabled=true,controller.config.controllerDLegerSelfId=it",
            "controller.config.controllerDLegerSelfId: the chart sets",
        ),
        (
            "controller.enabled=true,controller.replicaCount=3",
            "controller.etcd.endpoints: several controllers",
        ),
        ("auth.enabled=true", "auth.password: give one, or auth.existingSecret"),
        ("auth.enabled=true,auth.password=it", "auth.innerSecretKey: give one"),
        ("tls.enabled=true", "tls.existingSecret: name a Secret"),
        ("broker.hostNetwork=true,networkPolicy.enabled=true", "networkPolicy.enabled: it does not count"),
        ("dashboard.ingress.enabled=true", "dashboard.ingress.enabled: without auth.enabled"),
    ],
)
def test_a_wrong_value_is_named(given: str, said: str) -> None:
    done = template("--set", given)
    assert done.returncode != 0 and said in done.stderr, done.stderr


def test_the_chart_can_be_packed(tmp_path: Path) -> None:
    """The package contains the project's dashboards, which are outside of the chart."""
    done = call("package", CHART, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    [packed] = tmp_path.iterdir()
    shown = call(
        "template", "it", packed, *KUBERNETES, "--set", "metrics.enabled=true,metrics.dashboards.enabled=true"
    )
    assert shown.returncode == 0 and '"panels"' in shown.stdout
