"""Warnings about low limits of the machine."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from mqgateway.gateway.cli.limits import advice, lacking_memory, read_kernel, usable_cores

GOOD = {
    "/proc/sys/net/core/somaxconn": "4096\n",
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/swaps": "Filename\n",
}


def warnings(files: int = 65_536, **changed: str) -> list[str]:
    found = GOOD | changed

    def read(path: str) -> str:
        if path not in found:
            raise FileNotFoundError(path)
        return found[path]

    return list(advice(files, 20_000, 1024, read))


def test_a_machine_as_it_should_be() -> None:
    assert warnings() == warnings(files=-1) == warnings(files=21_024) == []
    assert list(advice(-1, 10, 1, read_kernel)) == [
        text for text in advice(-1, 10, 1, read_kernel) if "swappiness" in text
    ]


def test_too_few_open_files_name_the_setting_and_the_remedy() -> None:
    (text,) = warnings(files=1024)
    assert "1024 open files are allowed" in text and "maxConnections=20000" in text and "LimitNOFILE" in text
    (text,) = warnings(files=21_023)
    assert "leaves 19999 for connections" in text


def test_a_short_queue_of_connections() -> None:
    (text,) = warnings(**{"/proc/sys/net/core/somaxconn": "128"})
    assert "somaxconn=128" in text and "sysctl -w net.core.somaxconn=1024" in text


def test_swappiness_is_reported_only_if_there_is_swap() -> None:
    (text,) = warnings(**{"/proc/swaps": "Filename\n/dev/vdb partition 1 0 -2\n"})
    assert "vm.swappiness=60" in text
    assert warnings(**{"/proc/swaps": "Filename\n/dev/vdb 1\n", "/proc/sys/vm/swappiness": "1"}) == []


def test_files_of_the_kernel_that_are_missing_or_strange() -> None:
    assert list(advice(-1, 1, 1, lambda path: "many")) == []

    def missing(path: str) -> str:
        raise PermissionError(path)

    assert list(advice(-1, 1, 1, missing)) == []


def test_a_process_takes_as_many_open_files_as_it_may_have() -> None:
    program = (
        "import resource\n"
        "from mqgateway.gateway.cli.limits import raise_open_files\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 512))\n"
        "print(raise_open_files(), resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.split("\n")[0] == "512 (512, 512)", done.stderr
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] != 512


def cores_by(files: dict[str, str]) -> int:
    """Return the number of cores on a machine with these files of the kernel."""

    def read(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    return usable_cores(read)


@pytest.mark.parametrize(
    "text,cores",
    [
        ("max 100000\n", None),
        ("100000 100000\n", 1),
        ("50000 100000\n", 1),
        ("9000000 1\n", None),
        ("", None),
    ],
)
def test_cores_are_limited_by_the_quota_of_a_control_group(text: str, cores: int | None) -> None:
    bound = cores_by({})
    assert bound == len(os.sched_getaffinity(0))
    assert cores_by({"/sys/fs/cgroup/cpu.max": text}) == (cores or bound)
    service = {"/proc/self/cgroup": "1:x:/\n0::/a.slice/b\n", "/sys/fs/cgroup/a.slice/b/cpu.max": text}
    assert cores_by(service) == (cores or bound)


MEMORY = {
    "/proc/self/status": "Name:\tpython\nVmRSS:\t   61440 kB\n",
    "/proc/meminfo": "MemTotal:        204800 kB\nMemAvailable:     81920 kB\n",
    "/proc/self/cgroup": "0::/one\n",
}


def lack(**changed: str) -> str:
    found = MEMORY | changed

    def read(path: str) -> str:
        if path not in found:
            raise FileNotFoundError(path)
        return found[path]

    return lacking_memory(read)


def test_memory_for_another_process_is_that_of_the_machine() -> None:
    assert lack() == lacking_memory(read_kernel) == ""
    too_little = {"/proc/meminfo": "MemAvailable:     20480 kB\n"}
    assert lack(**too_little) == "it needs 60 MiB of memory at least, and 20 MiB are available"
    assert lack(**{"/proc/meminfo": "MemAvailable: many kB\n"}) == "", "it is not known"


def test_memory_for_another_process_is_the_rest_of_the_control_group() -> None:
    group = "/sys/fs/cgroup/one"
    limited = {f"{group}/memory.max": str(160 << 20), f"{group}/memory.stat": f"anon {150 << 20}\nfile 9\n"}
    assert lack(**limited) == "it needs 60 MiB of memory at least, and 10 MiB are available"
    assert lack(**(limited | {f"{group}/memory.stat": f"anon {90 << 20}\n"})) == ""
    assert lack(**(limited | {f"{group}/memory.max": "max\n"})) == ""
