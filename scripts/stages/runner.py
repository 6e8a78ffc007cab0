"""Runs the stages of a plan and reports each of them in one line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.stages.environments import TOX
from scripts.stages.plan import Plan, Stage

BESIDE = ("nice", "-n", "10")
STOP_SECONDS = 30
SUMMARY = re.compile(r"^=*\s*(\d+ [a-z]+\b.* in [\d.]+s(?: \([\d:]+\))?)\s*=*$", re.MULTILINE)
"""The last line of pytest, with `-q` or without."""
OTHER_SUMMARY = re.compile(r"^(All checks passed!|Success: .*|Found \d+ errors?.*)$", re.MULTILINE)
"""The last lines of ruff and mypy."""
NOTES = re.compile(r"^(official clients run in: [^;\n]*|\d+ scenarios .* recorded on .*)", re.MULTILINE)
"""Lines of a log that belong into the report."""


class Result(NamedTuple):
    """The result of a stage."""

    stage: Stage
    code: int
    seconds: float
    log: Path

    @property
    def has_passed(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        """The whole output."""
        return self.log.read_text(errors="replace")

    @property
    def summary(self) -> str:
        """The tool's own last line."""
        text = self.text
        found = SUMMARY.findall(text) or OTHER_SUMMARY.findall(text)
        return str(found[-1]) if found else f"exit code {self.code}"

    @property
    def notes(self) -> list[str]:
        """Lines of the output that a reader of the report has to know."""
        return list(dict.fromkeys(line.strip() for line in NOTES.findall(self.text)))

    def line(self) -> str:
        """One line for the report."""
        return line(self.stage.name, self.has_passed, self.seconds, self.summary)


def clock(seconds: float) -> str:
    """Return minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def line(name: str, has_passed: bool, seconds: float, summary: str) -> str:
    """Return one line of the report."""
    return f"{name:<14} {'ok' if has_passed else 'FAILED':<7} {clock(seconds):>6}  {summary}"


Command = Callable[[Stage], list[str]]


def tox_command(stage: Stage) -> list[str]:
    """Return the command of a stage whose environment is prepared."""
    command = [*TOX, "--skip-pkg-install", "-e", stage.environment]
    if arguments := stage.arguments():
        command += ["--", *arguments]
    return [*BESIDE, *command] if stage.lane else command


class Runner:
    """Runs plans one after the other; `results` grows with each stage.

    The stages of a lane run one at a time, lanes at the same time.
    """

    def __init__(
        self,
        root: Path,
        logs: Path,
        say: Callable[[str], None] = lambda line: print(line, flush=True),
        command: Command = tox_command,
    ) -> None:
        self.results: list[Result] = []
        self._root = root
        self._logs = logs
        self._say = say
        self._command = command
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_stopping = False

    def run(self, plan: Plan) -> None:
        """Run all stages of a plan, whatever comes of the others."""
        self._logs.mkdir(parents=True, exist_ok=True)
        lanes: dict[int, list[Stage]] = {}
        for stage in sorted(plan.stages, key=lambda stage: stage.lane):
            lanes.setdefault(stage.lane, []).append(stage)
        words = [
            f"{'at low priority ' if lane else ''}{', '.join(stage.name for stage in stages)}"
            for lane, stages in lanes.items()
        ]
        self._say(f"{plan.title}: {'; '.join(words)}; logs in {self._logs}")
        front, *others = lanes.values()
        threads = [threading.Thread(target=self._run_lane, args=(stages,)) for stages in others]
        for thread in threads:
            thread.start()
        try:
            self._run_lane(front)
            for thread in threads:
                thread.join()
        except BaseException:
            self.stop()
            for thread in threads:
                thread.join()
            raise

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        self._is_stopping = True
        with self._lock:
            running = list(self._running)
        for popen in running:
            end(popen)

    def _run_lane(self, stages: Iterable[Stage]) -> None:
        for stage in stages:
            if not self._is_stopping:
                self._report(self._run_stage(stage))

    def _run_stage(self, stage: Stage) -> Result:
        began = time.monotonic()
        log = self._logs / f"{stage.name.replace(' ', '-')}.log"
        with log.open("wb") as output:
            popen = subprocess.Popen(
                self._command(stage),
                cwd=self._root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Not a session: the kernel shares processors out among sessions, whatever their niceness is.
                process_group=0,
            )
        with self._lock:
            self._running.add(popen)
        try:
            code = popen.wait()
        finally:
            with self._lock:
                self._running.discard(popen)
        return Result(stage, code, time.monotonic() - began, log)

    def _report(self, result: Result) -> None:
        if self._is_stopping:
            return
        with self._lock:
            self.results.append(result)
            if not result.has_passed:
                self._say(
                    f"---- {result.stage.name}: full output\n{result.text}\n---- end of {result.stage.name}"
                )
            self._say(result.line())


def end(popen: subprocess.Popen[bytes]) -> None:
    """End a stage with everything that it started."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(popen.pid, number)
            popen.wait(STOP_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def report(results: Sequence[Result], seconds: float, notes: Sequence[str] = ()) -> str:
    """Return the table of all stages, with what a reader has to know, and the verdict."""
    lines = ["", f"{'stage':<14} {'result':<7} {'time':>6}  summary", *(result.line() for result in results)]
    lines += [f"{result.stage.name}: {note}" for result in results for note in result.notes]
    lines += notes
    failed = [result for result in results if not result.has_passed]
    verdict = (
        f"FAILED: {', '.join(result.stage.name for result in failed)}" if failed else "all stages passed"
    )
    lines += [f"{verdict} in {clock(seconds)}"]
    lines += [f"log of {result.stage.name}: {result.log}" for result in failed]
    return "\n".join(lines)
