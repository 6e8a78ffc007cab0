"""Masters and slaves of both kinds in one group, with another broker and a name server of ours."""

from __future__ import annotations

from pathlib import Path

from compat_tests.support.processes import free_ports
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, Part, Settings, apache_broker, our_broker, our_namesrv
from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.codec.codes import RequestCode

SETTINGS = {
    "mappedFileSizeCommitLog": str(1 << 20),
    "slaveReadEnable": "true",
    "haCopyWholeLog": "true",
    "flushConsumerOffsetInterval": "500",
    "registerNameServerPeriod": "10000",
}
OURS_ONLY = ("haCopyWholeLog",)


class Member:
    """One member of the group; brokers of either kind open its store."""

    def __init__(self, group: Group, name: str, settings: Settings) -> None:
        self._group = group
        self._settings = settings
        self._folder = group.folder / name
        self._port = free_ports((-2, 0, 1))
        self._part: Part | None = None
        self.address = f"{HOST}:{self._port}"
        self.store = self._folder / "store"

    def begin(self, kind: str, role: Settings) -> Member:
        """Start a broker of a kind in a role."""
        settings = {**SETTINGS, **self._settings, **role}
        if kind == "apache":
            for name in OURS_ONLY:
                settings.pop(name)
        make = apache_broker if kind == "apache" else our_broker
        self._part = make(self._folder, self._port, self._group.namesrv_address, settings)
        self._part.start()
        return self

    def stop(self) -> None:
        """Stop the broker cleanly."""
        if self._part is not None:
            self._part.stop()
            self._part = None

    def kill(self) -> None:
        """Kill the broker."""
        if self._part is not None:
            self._part.kill9()
            self._part = None

    def ask(self, code: int) -> dict[str, object]:
        """Return the JSON of the response to a request without fields."""
        with RawConnection(self.address) as connection:
            answer = connection.ask(code)
        assert answer is not None
        assert answer.code == 0, answer.remark
        found: dict[str, object] = loads(answer.body)
        return found

    def end(self) -> int:
        """Return the end offset of the log."""
        status = self.ask(RequestCode.GET_BROKER_HA_STATUS)
        of_slave = status["haClientRuntimeInfo"]
        assert isinstance(of_slave, dict)
        end = status["masterCommitLogMaxOffset"] if status["master"] else of_slave["maxOffset"]
        assert isinstance(end, int)
        return end

    def is_followed(self) -> bool:
        """Return True if the one slave has acknowledged the whole log."""
        status = self.ask(RequestCode.GET_BROKER_HA_STATUS)
        slaves = status["haConnectionInfo"]
        assert isinstance(slaves, list)
        return [slave["slaveAckOffset"] for slave in slaves] == [status["masterCommitLogMaxOffset"]]

    def log(self, end: int) -> dict[str, bytes]:
        """Return the bytes of each log file up to the end of the log."""
        files = sorted((self.store / "commitlog").iterdir())
        return {
            file.name: file.read_bytes()[: end - int(file.name)] for file in files if int(file.name) < end
        }

    def knows(self, topic: str, group: str) -> bool:
        """Return True if the tables on disk contain a topic and a group."""
        config = self.store / "config"
        tables = (config / "topics.json", config / "subscriptionGroup.json")
        return all(
            path.exists() and f'"{name}"' in path.read_text()
            for path, name in zip(tables, (topic, group), strict=True)
        )


class Group:
    """A name server, a master and a slave, and a broker of another name, with settings in common."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self.folder = folder
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self._namesrv = our_namesrv(folder / "namesrv", port)
        self.first = Member(self, "first", settings or {})
        self.second = Member(self, "second", settings or {})
        self.other = Member(self, "other", {"brokerName": "broker-b"})

    def __enter__(self) -> Group:
        self._namesrv.start()
        return self

    def __exit__(self, *failure: object) -> None:
        for part in (self.first, self.second, self.other):
            part.kill()
        self._namesrv.kill9()

    def set_up(self, **settings: str) -> None:
        """Change settings of the name server."""
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        with RawConnection(self.namesrv_address) as connection:
            answer = connection.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=text.encode())
        assert answer is not None
        assert answer.code == 0, answer.remark
