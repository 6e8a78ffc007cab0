"""A service is started, announced, and stopped by a signal; failures end the process with code 1.

A reactor runs once in a process, so each case is a small program.
"""

import signal
import subprocess
import sys
import textwrap

import pytest

from mqgateway.gateway.cli.collecting import FULL_PASS_EVERY

PROGRAM = """
import os, signal, sys
from twisted.internet.defer import succeed, fail
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.gateway.cli.run import run

class Fake:
    def __init__(self, reactor): self.reactor = reactor
    def start(self): {start}
    def stop(self):
        print("stopped")
        return succeed(None)

def started(service):
    print("started")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.{signal})

sys.exit(run(Fake, started))
"""


def run_program(start: str, name: str = "SIGTERM") -> subprocess.CompletedProcess[str]:
    program = textwrap.dedent(PROGRAM).format(start=start, signal=name)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )


def test_signal_stops_the_service_cleanly() -> None:
    for name in ("SIGTERM", "SIGINT"):
        done = run_program("return succeed(None)", name)
        assert (done.returncode, done.stdout.split()) == (0, ["started", "stopped"]), done.stderr


def test_a_start_that_fails_for_a_known_reason_says_it_in_one_line() -> None:
    done = run_program("return fail(StoreUnavailable('the store is in use'))")
    assert done.returncode == 1
    assert done.stderr == "mqgateway: error: the store is in use\n"
    assert done.stdout == ""


def test_a_start_that_fails_for_an_unknown_reason_shows_where() -> None:
    done = run_program("raise ZeroDivisionError('oh')")
    assert done.returncode == 1
    assert "mqgateway: error: oh" in done.stderr
    assert "Traceback" in done.stderr


def test_all_that_lives_is_seldom_looked_through_for_garbage() -> None:
    program = PROGRAM.replace(
        'print("started")', "import gc; print(gc.get_threshold()[2], gc.get_freeze_count())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program.format(start="return succeed(None)", signal="SIGTERM")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    threshold, frozen, *_ = done.stdout.split()
    assert int(threshold) == FULL_PASS_EVERY and int(frozen) > 10_000


SUPERVISED = """
import os, signal, socket, sys
from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed

heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind("\\0mqgateway-run-%d" % os.getpid())
heard.settimeout(10)
os.environ["NOTIFY_SOCKET"] = "@mqgateway-run-%d" % os.getpid()
os.environ["WATCHDOG_USEC"] = "100000"
from mqgateway.gateway.cli.run import run

def said(word):
    while True:
        lines = heard.recv(4096).decode().split("\\n")
        if lines[0] == word:
            print(*lines)
            return

class Fake:
    status = "broker at port 10911"
    def start(self): return succeed(None)
    def drain(self):
        print("draining")
        {second}
        return Deferred()
    def stop(self):
        print("stopped")
        return succeed(None)

def started(service):
    reactor.callLater(0.2, begun)

def begun():
    said("READY=1")
    said("WATCHDOG=1")
    os.kill(os.getpid(), signal.SIGHUP)

def reread(service):
    print("read again")
    reactor.callLater(0.05, os.kill, os.getpid(), signal.{first})

code = run(lambda _: Fake(), started, None, reread)
said("STOPPING=1")
sys.exit(code)
"""


def run_supervised(first: str, second: str = "pass") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SUPERVISED.format(first=first, second=second)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_supervisor_is_notified_of_all_states_and_a_second_signal_ends_draining() -> None:
    cut_short = "reactor.callLater(0, os.kill, os.getpid(), signal.SIGTERM)"
    assert run_supervised("SIGTERM", cut_short) == [
        "READY=1 STATUS=broker at port 10911",
        "WATCHDOG=1",
        "read again",
        "draining",
        "stopped",
        "STOPPING=1 STATUS=draining",
    ]


def test_an_interrupt_does_not_drain() -> None:
    assert run_supervised("SIGINT")[-2:] == ["stopped", "STOPPING=1 STATUS=stopping"]


DAEMON = """
import os, signal, sys
from twisted.internet import reactor
from twisted.internet.defer import succeed
from mqgateway.gateway.cli.run import run

class Fake:
    def start(self): return succeed(None)
    def stop(self): return succeed(None)

def started(service):
    reactor.callLater(0.2, os.kill, os.getpid(), signal.SIGHUP)

def reread(service):
    print("read again")
    reactor.callLater(0, os.kill, os.getpid(), signal.SIGTERM)

sys.exit(run(lambda _: Fake(), started, None, reread, is_daemon={is_daemon}))
"""


@pytest.mark.parametrize("is_daemon,code", [(True, 0), (False, -signal.SIGHUP)])
def test_hangup_without_supervisor_reloads_daemons_only(is_daemon: bool, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DAEMON.format(is_daemon=is_daemon)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "read again\n" if is_daemon else "")
