"""Pods as processes of this machine, started as their objects declare, in place of Kubernetes.

Each pod has a loopback address of its own, so that ports need no change. Names of pods, and mount paths of
volumes, are replaced in arguments, variables and files, as there is neither DNS nor a file system of a pod.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

BIN = Path(sys.executable).parent
PATIENCE_SECONDS = 60
WITHOUT_CAPABILITIES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
"""Prefix of a pod's command: the chart drops all capabilities, by which root may write read-only files."""
Secrets = Mapping[str, Mapping[str, str]]
"""Keys and values of each Secret, by its name."""


class Pod:
    """One pod of a StatefulSet; `files` are those of its ConfigMap."""

    def __init__(self, cluster: Cluster, name: str, template: Mapping[str, Any], address: str) -> None:
        self.cluster, self.name, self.address = cluster, name, address
        self.spec = template["spec"]
        [self.container] = self.spec["containers"]
        self.folder = cluster.folder / name
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Path of the pod's output."""
        return self.folder / "log"

    def start(self) -> None:
        """Write the files of its mounts, and run its command."""
        mounts = self._mount()
        env = self._environment(mounts)
        words = [self._replaced(_expanded(word, env), mounts) for word in self.container["args"]]
        assert words[0] == "sh"
        command = [*WITHOUT_CAPABILITIES, str(BIN / words[1]), *words[2:], "--bind", self.address]
        usual = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=usual | env, stdout=log, stderr=log)

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run its script to the end, as `helm test` does; `sh mqadmin` is a file of the image's."""
        mounts = self._mount()
        (self.folder / "mqadmin").write_text(f'exec {BIN}/mqadmin "$@"\n')
        script = [word.replace("/tmp/", f"{self.folder}/") for word in self.container["args"]]
        env = {"PATH": "/usr/bin:/bin"} | self._environment(mounts)
        command = [self._replaced(word, mounts) for word in script]
        return subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True, check=False)

    def stop(self) -> float:
        """Stop the pod as a node drain does; return how long it took, in seconds."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(self.spec["terminationGracePeriodSeconds"])
        assert code == 0, self.log.read_text()
        self.process = None
        return time.monotonic() - began

    def kill(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def probe(self, which: str) -> tuple[int, str]:
        """Return status and text of a probe of the container; status 0 if the port is not reachable."""
        get = self.container[which]["httpGet"]
        [port] = [one["containerPort"] for one in self.container["ports"] if one["name"] == get["port"]]
        try:
            with urllib.request.urlopen(f"http://{self.address}:{port}{get['path']}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def _mount(self) -> dict[str, str]:
        """Make the folders of its volumes; return the local path of each mount path."""
        volumes = {one["name"]: one for one in self.spec["volumes"]}
        mounts: dict[str, str] = {}
        for mount in self.container["volumeMounts"]:
            folder = self.folder / mount["name"]
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
            if mount["mountPath"] != "/tmp":
                mounts[mount["mountPath"]] = str(folder)
            volume = volumes.get(mount["name"], {})
            for name, text in self._contents(volume).items():
                _write_read_only(folder / name, text)
        for path in (self.folder / "config").glob("*"):
            _write_read_only(path, self._replaced(path.read_text(), mounts))
        for mount in self.container["volumeMounts"]:
            if mount.get("readOnly"):
                (self.folder / mount["name"]).chmod(0o555)
        return mounts

    def _contents(self, volume: Mapping[str, Any]) -> Mapping[str, str]:
        if "configMap" in volume:
            return self.cluster.config_maps[volume["configMap"]["name"]]
        return self.cluster.secrets[volume["secret"]["secretName"]] if "secret" in volume else {}

    def _environment(self, mounts: Mapping[str, str]) -> dict[str, str]:
        env: dict[str, str] = {}
        for one in self.container["env"]:
            value = self._value(one)
            if value is not None:
                env[one["name"]] = self._replaced(_expanded(value, env), mounts)
        return env

    def _value(self, one: Mapping[str, Any]) -> str | None:
        if "value" in one:
            return str(one["value"])
        source = one["valueFrom"]
        if "fieldRef" in source:
            return {"metadata.name": self.name, "status.podIP": self.address}[source["fieldRef"]["fieldPath"]]
        reference = source["secretKeyRef"]
        secret = self.cluster.secrets[reference["name"]]
        return secret.get(reference["key"]) if reference.get("optional") else secret[reference["key"]]

    def _replaced(self, text: str, mounts: Mapping[str, str]) -> str:
        for path, folder in mounts.items():
            text = text.replace(path, folder)
        for host, other in self.cluster.hosts.items():
            text = text.replace(host, other)
        return text


class Cluster:
    """All pods of the StatefulSets among these objects; `also` are further names and their addresses."""

    def __init__(
        self, text: str, folder: Path, secrets: Secrets | None = None, also: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        objects = [one for one in yaml.safe_load_all(text) if one]
        self.config_maps = {
            one["metadata"]["name"]: one["data"] for one in objects if one["kind"] == "ConfigMap"
        }
        self.secrets = {one["metadata"]["name"]: _plain(one) for one in objects if one["kind"] == "Secret"}
        self.secrets |= {name: dict(found) for name, found in (secrets or {}).items()}
        self.pods: dict[str, Pod] = {}
        self.hosts = dict(also or {})
        for one in objects:
            if one["kind"] == "StatefulSet":
                self._add(one["metadata"]["name"], one["spec"])
        [test] = [one for one in objects if one["kind"] == "Pod"]
        self.test = Pod(self, test["metadata"]["name"], test, "127.0.77.100")
        """Pod of `helm test`."""

    def _add(self, name: str, spec: Mapping[str, Any]) -> None:
        for number in range(spec["replicas"]):
            pod = f"{name}-{number}"
            address = f"127.0.77.{len(self.pods) + 1}"
            self.pods[pod] = Pod(self, pod, spec["template"], address)
            self.hosts[f"{pod}.{spec['serviceName']}"] = address

    def named(self, part: str) -> list[Pod]:
        """Return the pods with this in their names."""
        return [pod for name, pod in self.pods.items() if part in name]

    def start(self) -> None:
        """Start all pods."""
        for pod in self.pods.values():
            pod.start()

    def wait_until_ready(self, pods: Iterable[Pod] | None = None) -> None:
        """Wait until the readiness probes of all pods, or of these, succeed."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for pod in self.pods.values() if pods is None else pods:
            while (said := pod.probe("readinessProbe"))[0] != 200:
                if time.monotonic() > deadline:
                    raise AssertionError(f"{pod.name}: {said}\n{pod.log.read_text()[-4000:]}")
                time.sleep(0.1)

    def mqadmin(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Run `mqadmin` with the first name server and return its output."""
        first = self.named("-nameserver-")[0].address
        command = [str(BIN / "mqadmin"), *words, "-n", f"{first}:9876"]
        done = subprocess.run(command, env=dict(env or {}), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def brokers(self, *words: str, env: Mapping[str, str] | None = None) -> dict[str, dict[str, str]]:
        """Return the addresses by name and id, as `mqadmin clusterList` lists them."""
        found: dict[str, dict[str, str]] = {}
        for row in json.loads(self.mqadmin("clusterList", "--json", *words, env=env))["rows"]:
            found.setdefault(row["brokerName"], {})[str(row["brokerId"])] = row["address"]
        return found

    def end(self) -> None:
        """Kill the remaining processes."""
        for pod in self.pods.values():
            pod.kill()


def _write_read_only(path: Path, text: str) -> None:
    """Write a file of a ConfigMap or Secret."""
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o444)


def _expanded(text: str, env: Mapping[str, str]) -> str:
    """Replace `$(NAME)` as Kubernetes does: by variables that were declared before."""
    return re.sub(r"\$\((\w+)\)", lambda match: env.get(match[1], match[0]), text)


def _plain(secret: Mapping[str, Any]) -> dict[str, str]:
    decoded = {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
    return decoded | (secret.get("stringData") or {})
