"""A service is started, announced, and stopped by a signal; failures end the process with code 1.

The reactor can be run once a process, so each case is a small program.
"""

import subprocess
import sys
import textwrap

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


def run_program(start: str, signal: str = "SIGTERM") -> subprocess.CompletedProcess[str]:
    program = textwrap.dedent(PROGRAM).format(start=start, signal=signal)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )


def test_a_signal_stops_the_service_in_good_order() -> None:
    for signal in ("SIGTERM", "SIGINT"):
        done = run_program("return succeed(None)", signal)
        assert (done.returncode, done.stdout.split()) == (0, ["started", "stopped"]), done.stderr


def test_a_start_that_fails_for_a_known_reason_says_it_in_one_line() -> None:
    done = run_program("return fail(StoreUnavailable('the store is in use'))")
    assert done.returncode == 1
    assert done.stderr == "mqgateway: the store is in use\n"
    assert done.stdout == ""


def test_a_start_that_fails_for_an_unknown_reason_shows_where() -> None:
    done = run_program("raise ZeroDivisionError('oh')")
    assert done.returncode == 1
    assert "mqgateway: oh" in done.stderr
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
