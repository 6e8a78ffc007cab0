"""The Helm chart as far as it can be judged without Helm: its values, and what was rendered of its examples.

That what was rendered is what Helm renders now, `tox -e helm` checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from mqgateway.engine.options import OptionSet, Setting, load_properties
from mqgateway.gateway.broker.service import FAST_PORT_DISTANCE
from mqgateway.gateway.cli.controller import ControllerSettings
from mqgateway.gateway.cli.environment import from_environment, unknown_variables
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings
from mqgateway.gateway.controller.peers import own_peer
from mqgateway.gateway.web.entrance import check as check_console
from tests.house.source import ROOT
from tests.house.test_packaging import version
from tests.packaging.objects import Object, matches, of_kind, pod_templates, validate

CHART = ROOT / "packaging" / "helm"
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
RENDERED = Path(__file__).parent / "rendered"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
KINDS = {"nameserver": NamesrvSettings, "broker": BrokerSettings, "controller": ControllerSettings}
SECRET = "a secret that nobody may see"

each_example = pytest.mark.parametrize("example", [path.stem for path in EXAMPLES])


@cache
def load(example: str) -> list[Object]:
    """Return the objects of an example, which tests must not change."""
    return [one for one in yaml.safe_load_all((RENDERED / f"{example}.yaml").read_text()) if one]


def container_of(template: Object) -> Object:
    [container] = template["spec"]["containers"]
    return container


class Server:
    """One pod: its settings, read as its container reads them."""

    def __init__(self, objects: list[Object], template: Object, pod: str) -> None:
        self.pod, self.template, self.container = pod, template, container_of(template)
        self.component = template["metadata"]["labels"]["app.kubernetes.io/component"]
        settings = KINDS[self.component]()
        self.kind: Any = settings
        self.options: OptionSet = settings.options
        self.env = dict(self._environment())
        maps = {one["metadata"]["name"]: one["data"] for one in of_kind(objects, "ConfigMap")}
        [volume] = [one for one in template["spec"]["volumes"] if one["name"] == "config"]
        file = Path(self.container["args"][3].replace("$(POD_NAME)", pod)).name
        self.given = load_properties(maps[volume["configMap"]["name"]][file], file)
        self.problems = self.options.apply(self.given + from_environment(self.env, self.options))

    def _environment(self) -> Iterator[tuple[str, str]]:
        own = {"metadata.name": self.pod, "status.podIP": "10.0.0.7"}
        for one in self.container["env"]:
            source = one.get("valueFrom", {})
            if "secretKeyRef" in source:
                yield one["name"], SECRET
            else:
                value = own[source["fieldRef"]["fieldPath"]] if source else one["value"]
                yield one["name"], value.replace("$(POD_IP)", "10.0.0.7")

    @property
    def ports(self) -> dict[str, int]:
        return {one["name"]: one["containerPort"] for one in self.container["ports"]}


def servers(objects: list[Object]) -> list[Server]:
    return [
        Server(objects, one["spec"]["template"], f"{one['metadata']['name']}-{number}")
        for one in of_kind(objects, "StatefulSet")
        for number in range(one["spec"]["replicas"])
    ]


def complaints(values: object) -> list[str]:
    found = jsonschema.Draft7Validator(SCHEMA).iter_errors(values)
    return [f"{one.json_path}: {one.message}" for one in found]


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == version() and chart["name"] == "mqgateway"
    assert {path.stem for path in RENDERED.iterdir()} == {path.stem for path in EXAMPLES}


def test_defaults_and_examples_are_allowed_values() -> None:
    assert complaints(yaml.safe_load((CHART / "values.yaml").read_text())) == []
    for path in EXAMPLES:
        assert complaints(yaml.safe_load(path.read_text())) == [], path


def test_every_value_has_its_default_and_every_default_is_a_value() -> None:
    """`global` is what Helm passes on to charts within charts."""

    def compare(schema: Any, values: Any, path: str) -> Iterator[str]:
        if "$ref" in schema:
            schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
        if not schema.get("properties"):
            return
        yield from (f"{path}.{name}" for name in schema["properties"].keys() ^ values.keys())
        for name, value in values.items():
            yield from compare(schema["properties"][name], value, f"{path}.{name}")

    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    assert list(compare(SCHEMA, defaults, "")) == [".global"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"broker": {"size": {"replicas": 1}}}, "$.broker.size: Additional properties"),
        ({"broker": {"persistence": {"size": "8 GB"}}}, "$.broker.persistence.size"),
        ({"broker": {"config": {"slaveReadEnable": [True]}}}, "$.broker.config.slaveReadEnable"),
        ({"controller": {"etcd": {"endpoints": ["etcd:2379"]}}}, "$.controller.etcd.endpoints[0]"),
        ({"dashboard": {"roles": ["ops"]}}, "$.dashboard.roles[0]"),
        ({"auth": {"authKey": "short"}}, "$.auth.authKey"),
        ({"tls": {"mode": "on"}}, "$.tls.mode"),
        ({"metrics": {"sets": ["prometheus"]}}, "$.metrics.sets[0]"),
        ({"proxy": {"replicaCount": 2}}, "$.proxy: Additional properties"),
    ],
)
def test_a_wrong_value_is_named(values: object, said: str) -> None:
    [complaint] = complaints(values)
    assert complaint.startswith(said)


@each_example
def test_objects_are_as_kubernetes_wants_them(example: str) -> None:
    objects = load(example)
    for one in objects:
        validate(one)
    names = [(one["kind"], one["metadata"]["name"]) for one in objects]
    assert len(set(names)) == len(names)
    # The name of a StatefulSet with a revision is a label, which has 63 characters at most.
    assert all(len(name) <= 52 for kind, name in names if kind == "StatefulSet")


@each_example
def test_settings_are_right(example: str) -> None:
    objects = load(example)
    found = servers(objects)
    assert {one.component for one in found} >= {"nameserver", "broker"}
    for server in found:
        assert server.problems == [], server.pod
        assert unknown_variables(server.env, [server.options]) == []
        assert server.options.get("healthPort") == server.ports["health"]
        if server.component == "controller":
            assert own_peer(server.kind.controller).port == server.ports["remoting"]
        else:
            assert server.options.get("listenPort") == server.ports["remoting"]


@each_example
def test_brokers_are_who_their_pods_are(example: str, tmp_path: Path) -> None:
    brokers = [one for one in servers(load(example)) if one.component == "broker"]
    names = set()
    for server in brokers:
        server.options.apply([Setting("storePathRootDir", str(tmp_path), 0, "--set")])
        server.kind.find_out()
        options = server.kind.broker
        assert server.ports["ha"] == server.kind.store.ha_listen_port
        assert server.ports["remoting-vip"] == server.ports["remoting"] - FAST_PORT_DISTANCE
        assert server.ports.get("grpc", 0) == options.grpc_server_port
        assert server.ports.get("console", 0) == options.console_port
        check_console(options)
        assert options.grpc_advertised_address == "10.0.0.7:8081" and options.broker_ip1 == "10.0.0.7"
        # Under a controller, the controller assigns the broker ids.
        names.add(
            server.pod if options.enable_controller_mode else f"{options.broker_name} {options.broker_id}"
        )
        _, _, _, group, number = server.pod.split("-")
        assert options.broker_name == f"broker-{group}"
        assert options.enable_controller_mode or options.broker_id == int(number)
    assert len(names) == len(brokers)


@each_example
def test_servers_find_each_other(example: str) -> None:
    """The addresses in their settings are pods behind a headless Service, at a port that these have."""
    objects = load(example)
    found = servers(objects)
    there = {}
    for one in of_kind(objects, "StatefulSet"):
        [service] = [
            it for it in of_kind(objects, "Service") if it["metadata"]["name"] == one["spec"]["serviceName"]
        ]
        assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]
        assert matches(one["spec"]["template"]["metadata"]["labels"], service["spec"]["selector"])
        for server in found:
            if server.pod.rpartition("-")[0] == one["metadata"]["name"]:
                there[f"{server.pod}.{one['spec']['serviceName']}:{server.ports['remoting']}"] = server
    for server in found:
        named = str(server.options.get("namesrvAddr")).split(";") if server.component == "broker" else []
        if server.component == "broker" and server.kind.broker.enable_controller_mode:
            named += str(server.kind.broker.controller_addr).split(";")
        if server.component == "controller":
            own = own_peer(server.kind.controller)
            assert there[own.address] is server
        assert set(named) <= there.keys()
        assert server.component != "broker" or named


@each_example
def test_services_and_budgets_are_of_pods_that_are_there(example: str) -> None:
    objects = load(example)
    templates = [one for one in pod_templates(objects) if one.get("kind") != "Pod"]
    pods = {server.pod for server in servers(objects)}
    for service in of_kind(objects, "Service"):
        selector = dict(service["spec"]["selector"])
        pod = selector.pop("statefulset.kubernetes.io/pod-name", None)
        assert pod is None or pod in pods
        chosen = [one for one in templates if matches(one["metadata"]["labels"], selector)]
        ports = [{port["name"] for port in container_of(one)["ports"]} for one in chosen]
        assert chosen and all(
            port["targetPort"] in names for port in service["spec"]["ports"] for names in ports
        )
    for one in templates:
        labels = one["metadata"]["labels"]
        budgets = [
            budget
            for budget in of_kind(objects, "PodDisruptionBudget")
            if matches(labels, budget["spec"]["selector"]["matchLabels"])
        ]
        # Two for one pod would keep it from ever being evicted.
        assert len(budgets) == 1
    sets = of_kind(objects, "StatefulSet")
    for one in sets:
        chosen = [
            it
            for it in templates
            if matches(it["metadata"]["labels"], one["spec"]["selector"]["matchLabels"])
        ]
        assert chosen == [one["spec"]["template"]]


@each_example
def test_pods_are_shut_in(example: str) -> None:
    for template in pod_templates(load(example)):
        spec, container = template["spec"], container_of(template)
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] == 3000
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert not container["securityContext"]["allowPrivilegeEscalation"]
        assert spec["automountServiceAccountToken"] is False and spec["enableServiceLinks"] is False


@each_example
def test_mounts_have_volumes(example: str) -> None:
    for one in of_kind(load(example), "StatefulSet"):
        template = one["spec"]["template"]
        claimed = {claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", ())}
        volumes = {volume["name"] for volume in template["spec"]["volumes"]}
        mounts = {mount["name"] for mount in container_of(template)["volumeMounts"]}
        assert not claimed & volumes and mounts == claimed | volumes
        assert bool(claimed) == (example != "minimal")


@each_example
def test_there_is_time_to_drain_and_to_recover(example: str) -> None:
    for server in servers(load(example)):
        grace = server.template["spec"]["terminationGracePeriodSeconds"]
        if server.component == "nameserver":
            word, seconds = server.container["lifecycle"]["preStop"]["exec"]["command"]
            assert word == "sleep" and 0 < int(seconds) < grace - 10
        if server.component == "broker":
            assert 0 < server.kind.broker.drain_timeout_millis / 1000 + 30 < grace
        paths = [
            server.container[f"{which}Probe"]["httpGet"]["path"]
            for which in ("startup", "liveness", "readiness")
        ]
        assert paths == ["/livez", "/livez", "/readyz"]
        assert all(
            server.container[f"{which}Probe"]["httpGet"]["port"] == "health"
            for which in ("startup", "liveness", "readiness")
        )


def test_secrets_come_from_secrets() -> None:
    """With access control, what is secret is in variables alone, which are what the settings are called."""
    for server in servers(load("secure")):
        given = {setting.key for setting in server.given}
        secret = {name for name in server.options.names() if server.options.option(name).secret}
        assert not given & secret
        for name in ("initAuthenticationUser", "innerClientAuthenticationCredentials", "authKey"):
            assert server.options.get(name) == SECRET
        assert server.options.get("authenticationEnabled") and server.options.get("authorizationEnabled")
        assert server.options.get("tls.enable") and server.options.get("tls.test.mode.enable") is False
        assert str(server.options.get("tls.server.mode")) == "enforcing"


def test_dashboards_and_alerts_are_the_projects_own() -> None:
    assert (CHART / "files" / "dashboards").resolve() == ROOT / "dashboards"
    text = (CHART / "templates" / "metrics.yaml").read_text()
    rules = re.search(r"\$rules := dict (.*?) \}\}", text)
    assert rules
    for name in re.findall(r'"([^"]+\.yml)"', rules[1]):
        assert yaml.safe_load((ROOT / "dashboards" / name).read_text())["groups"]
    for name in SCHEMA["properties"]["metrics"]["properties"]["sets"]["items"]["enum"]:
        assert (ROOT / "dashboards" / f"mqgateway-{name}.json").is_file()
