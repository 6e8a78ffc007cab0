"""Requests as JSON lines on standard input, answers on standard output; each request has a thread."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

STEP_SECONDS = 50


class Member:
    """A member of a group, polled by a thread of its own; subclasses make the consumer and poll it."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.records: list[dict[str, Any]] = []
        self.assignment: list[int] = []
        self.revoked = 0
        self.failure: BaseException | None = None
        self._steps: queue.Queue[tuple[Callable[[], None], Future[None]]] = queue.Queue()
        self._running = True
        threading.Thread(target=self._run, args=(request,), daemon=True).start()

    def open(self, request: Mapping[str, Any]) -> None:
        """Make the consumer and subscribe."""
        raise NotImplementedError

    def poll(self) -> None:
        """Poll once: append to `records`, set `assignment`."""
        raise NotImplementedError

    def commit(self) -> None:
        """Commit what was received."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the group."""
        raise NotImplementedError

    def taken(self) -> dict[str, Any]:
        """Return partitions, the number of partitions revoked, and the records since the last call."""
        if self.failure is not None:
            raise self.failure
        records, self.records = self.records, []
        return {"assignment": self.assignment, "revoked": self.revoked, "records": records}

    def in_thread(self, step: Callable[[], None]) -> None:
        """Run a step between two polls."""
        done: Future[None] = Future()
        self._steps.put((step, done))
        done.result(STEP_SECONDS)

    def leave(self) -> None:
        """Leave the group and end the thread."""

        def last() -> None:
            self._running = False
            self.close()

        self.in_thread(last)

    def _run(self, request: Mapping[str, Any]) -> None:
        try:
            self.open(request)
            while self._running:
                self.poll()
                while not self._steps.empty():
                    step, done = self._steps.get()
                    try:
                        step()
                        done.set_result(None)
                    except Exception as failure:
                        done.set_exception(failure)
        except BaseException as failure:
            self.failure = failure


def serve(
    ops: Mapping[str, Callable[[Mapping[str, Any]], Any]],
    member: Callable[[Mapping[str, Any]], Member],
    code_of: Callable[[BaseException], int | None],
) -> None:
    """Answer requests until standard input ends."""
    members: dict[str, Member] = {}
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what clients print is no answer
    lock = threading.Lock()

    def run(request: Mapping[str, Any]) -> Any:
        op = request["op"]
        if op == "join":
            members[request["name"]] = member(request)
        elif op == "taken":
            return members[request["name"]].taken()
        elif op == "commit":
            one = members[request["name"]]
            one.in_thread(one.commit)
        elif op == "leave":
            members.pop(request["name"]).leave()
        else:
            return ops[op](request)
        return None

    def answer(request: Mapping[str, Any]) -> None:
        shape: dict[str, Any] = {"id": request["id"]}
        try:
            shape["result"] = run(request)
        except BaseException as failure:
            shape["error"] = {
                "type": type(failure).__name__,
                "code": code_of(failure),
                "message": str(failure),
            }
        with lock:
            out.write(json.dumps(shape) + "\n")
            out.flush()

    for line in sys.stdin:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
    os._exit(0)


def data(text: str | None) -> bytes | None:
    """Return a text as bytes."""
    return None if text is None else text.encode()


def text(data: bytes | None) -> str | None:
    """Return bytes as a text."""
    return None if data is None else data.decode()
