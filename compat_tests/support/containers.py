"""The official clients in a container.

A running Docker engine is used if there is one. Otherwise an engine is started for the run where that is
possible, with a data folder of its own in the cache, no bridge and no firewall rules (containers use the
host's network). The image is built from ``docker/Dockerfile``. If its public base image cannot be pulled,
debootstrap makes a base on this machine. One container lives for the whole run, and every client is a
process in it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from compat_tests.support.artifacts import cache_folder
from compat_tests.support.processes import start_logged, stop, wait_until

IMAGE = "mqgateway-compat-client"
LOCAL_BASE = "mqgateway-compat-base"
BASE_SUITE = "bookworm"
"""The Debian release whose openjdk-17-jre-headless makes the local base image."""

ORPHAN_SECONDS = 20
"""Time for an engine to end its containers."""

DOCKERFILE = Path(__file__).parent / "docker" / "Dockerfile"


class NoEngine(RuntimeError):
    """No Docker engine runs here and none could be started, or it cannot make the image of the clients."""


class DockerRuntime:
    """Starts clients in one container that lives as long as this object."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._numbers = itertools.count(1)
        self._engine = Engine(work)
        self._name = f"mqgateway-compat-{os.getpid()}"
        self.title = f"Docker {self._engine.version}"
        try:
            ensure_image(self._engine)
            cache = cache_folder()
            command = ["run", "--detach", "--rm", "--init", "--network", "host", "--name", self._name]
            command += ["--volume", f"{cache}:{cache}:ro", "--volume", f"{work}:{work}", IMAGE]
            self._engine.run(*command)
        except BaseException:
            self._engine.close()
            raise

    def java(self, arguments: Sequence[str], env: Mapping[str, str] | None = None) -> ContainedProcess:
        """Start ``java ARGUMENTS`` with pipes for input and output; errors go to the client log."""
        return self.run(["java", f"-Duser.home={self._work}", *arguments], env)

    def run(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> ContainedProcess:
        """Start a program with pipes for input and output; errors go to the client log."""
        pid_file = self._work / f"client-{next(self._numbers)}.pid"
        call = ["exec", "--interactive", "--workdir", str(self._work)]
        for name, value in (env or {}).items():
            call += ["--env", f"{name}={value}"]
        call += [self._name, "sh", "-c", f'echo $$ > {pid_file}; exec "$@"', "sh", *command]
        with (self._work / "clients.log").open("ab") as errors:
            popen = subprocess.Popen(
                self._engine.command(*call),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        return ContainedProcess(popen, self, pid_file)

    def kill_inside(self, pid: int) -> None:
        """End a process of the container by its id there."""
        self._engine.run("exec", self._name, "sh", "-c", f"kill -9 {pid} 2>/dev/null || true")

    def close(self) -> None:
        """Remove the container, and end the engine if it was started for this run."""
        try:
            self._engine.run("rm", "--force", self._name)
        finally:
            self._engine.close()


class ContainedProcess:
    """A client in the container; ``popen`` is the command that holds its pipes."""

    def __init__(self, popen: subprocess.Popen[bytes], runtime: DockerRuntime, pid_file: Path) -> None:
        self.popen = popen
        self._runtime = runtime
        self._pid_file = pid_file

    def kill(self) -> None:
        """End the client, which ends the command that holds its pipes."""
        if self.popen.poll() is None:
            wait_until(lambda: self._pid_file.exists() and self._pid_file.read_text(), 10, "a pid file")
            self._runtime.kill_inside(int(self._pid_file.read_text()))
            self.popen.wait(30)


class Engine:
    """A Docker engine: one that runs, or one started here and ended by ``close``."""

    def __init__(self, work: Path) -> None:
        self._arguments: list[str] = []
        self._started: subprocess.Popen[bytes] | None = None
        self._exec_root: str | None = None
        self.started_at = ""
        """Address of an engine that was started here, as in DOCKER_HOST."""
        if shutil.which("docker") is None:
            raise NoEngine("there is no docker command")
        if not self._answers():
            self._start(work)
        self.version = self.run("version", "--format", "{{.Server.Version}}").strip()

    def command(self, *arguments: str) -> list[str]:
        """Return the whole command line of a docker command."""
        return ["docker", *self._arguments, *arguments]

    def run(self, *arguments: str, timeout: float = 600) -> str:
        """Run a docker command; return its output. Raises RuntimeError if it fails."""
        result = subprocess.run(
            self.command(*arguments), capture_output=True, text=True, timeout=timeout, check=False
        )
        if result.returncode != 0:
            raise RuntimeError(f"docker {arguments[0]}: {result.stderr[-2000:]}")
        return result.stdout

    def has_image(self, name: str) -> bool:
        """Return True if the engine has an image of that name."""
        return bool(self.run("images", "--quiet", name).strip())

    def close(self) -> None:
        """End the engine if this object started it."""
        if self._started is not None:
            stop(self._started)
            self._started = None
        if self._exec_root is not None:
            # An engine leaves its network name space mounted when it ends.
            for point in mount_points(Path("/proc/self/mounts").read_text(), self._exec_root):
                subprocess.run(["umount", point], check=False, timeout=60)
            shutil.rmtree(self._exec_root)
            self._exec_root = None

    def _answers(self) -> bool:
        try:
            self.run("version", timeout=20)
        except (RuntimeError, subprocess.TimeoutExpired):
            return False
        return True

    def _start(self, work: Path) -> None:
        if shutil.which("dockerd") is None or os.geteuid() != 0:
            raise NoEngine("no Docker engine answers, and starting one needs dockerd and root")
        data_root = cache_folder() / "docker"
        end_orphans(data_root)
        self._exec_root = tempfile.mkdtemp(prefix="mqgateway-docker-")
        socket = f"unix://{self._exec_root}/docker.sock"
        command = ["dockerd", "--storage-driver=vfs", "--iptables=false", "--bridge=none"]
        command += [data_root_argument(data_root), f"--exec-root={self._exec_root}/exec"]
        command += ["-H", socket, "--pidfile", f"{self._exec_root}/docker.pid"]
        self._started = start_logged(command, work / "dockerd.log", start_new_session=True)
        self._arguments = ["-H", socket]
        self.started_at = socket
        try:
            wait_until(lambda: self._dead() or self._answers(), 60, "the Docker engine answers")
        except TimeoutError as failure:
            self.close()
            raise NoEngine(str(failure)) from failure
        if self._dead():
            log = (work / "dockerd.log").read_text(errors="replace")[-1000:]
            self.close()
            raise NoEngine(f"dockerd ended: {log}")

    def _dead(self) -> bool:
        return self._started is not None and self._started.poll() is not None


def data_root_argument(data_root: Path) -> str:
    """Return the argument of dockerd that names its data folder."""
    return f"--data-root={data_root}"


def end_orphans(data_root: Path) -> None:
    """End the engine of a run that was killed: it holds the lock of the data folder."""
    argument = data_root_argument(data_root)
    orphans = [
        process
        for process in psutil.process_iter(["cmdline", "ppid"])
        if process.info["ppid"] == 1 and argument in (process.info["cmdline"] or ())
    ]
    for process in orphans:
        process.terminate()
    wait_until(lambda: not any(map(runs, orphans)), ORPHAN_SECONDS, "the engine of an earlier run ends")


def runs(process: psutil.Process) -> bool:
    """Return False for a process that has ended, also if nothing has waited for it."""
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


def mount_points(mounts: str, folder: str) -> list[str]:
    """Return what is mounted below a folder, the latest first.

    Args:
        mounts: The content of /proc/self/mounts.
        folder: An absolute path.
    """
    points = [line.split()[1] for line in mounts.splitlines()]
    return [point for point in reversed(points) if point.startswith(f"{folder}/")]


def ensure_image(engine: Engine) -> None:
    """Build the image of the clients unless the engine has it. Raises `NoEngine` if it cannot be built."""
    try:
        _make_image(engine)
    except (RuntimeError, subprocess.TimeoutExpired) as failure:
        raise NoEngine(f"the image of the clients cannot be made: {failure}") from failure


def _make_image(engine: Engine) -> None:
    if engine.has_image(IMAGE):
        return
    if not engine.has_image(LOCAL_BASE):
        try:
            _build(engine, None)
        except (RuntimeError, subprocess.TimeoutExpired):
            _make_local_base(engine)
        else:
            return
    _build(engine, LOCAL_BASE)


def _build(engine: Engine, base: str | None) -> None:
    command = ["build", "--network", "host", "--tag", IMAGE]
    if base is not None:
        command += ["--build-arg", f"BASE_IMAGE={base}"]
    engine.run(*command, "--file", str(DOCKERFILE), str(DOCKERFILE.parent), timeout=300)


def _make_local_base(engine: Engine) -> None:
    """Make a Debian image with a JRE, directly from Debian's packages."""
    with tempfile.TemporaryDirectory(prefix="mqgateway-base-") as folder:
        root = Path(folder) / "root"
        packages = "openjdk-17-jre-headless"
        command = ["debootstrap", "--variant=minbase", f"--include={packages}", BASE_SUITE, str(root)]
        made = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if made.returncode != 0:
            raise RuntimeError(f"debootstrap: {made.stdout[-2000:]}")
        for waste in (
            "var/cache/apt",
            "var/lib/apt/lists",
            "usr/share/doc",
            "usr/share/locale",
            "usr/share/man",
        ):
            shutil.rmtree(root / waste, ignore_errors=True)
        archive = Path(folder) / "base.tar"
        subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True, timeout=300)
        engine.run("import", str(archive), LOCAL_BASE)
