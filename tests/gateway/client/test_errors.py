"""Errors are one family, and say what a caller needs."""

from __future__ import annotations

import inspect
import pickle
from importlib import import_module

from mqgateway.gateway.client import errors
from mqgateway.gateway.client.errors import (
    BrokerError,
    ClientError,
    NoRoute,
    SendFailed,
    TimedOut,
    Unreachable,
    trimmed,
)


def test_everything_is_a_client_error() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    assert len(kinds) > 8 and all(issubclass(kind, ClientError) for kind in kinds)
    assert issubclass(TimedOut, Unreachable)


def test_refusals_have_code_remark_and_address() -> None:
    error = BrokerError(16, "no permission", "10.0.0.1:10911")
    assert (error.code, error.remark, error.address) == (16, "no permission", "10.0.0.1:10911")
    assert BrokerError(1, None, "a:1").remark == ""


def test_a_failed_send_names_brokers_and_the_last_code() -> None:
    failed = SendFailed("T", ["a", "b"], BrokerError(14, "full", "x"))
    assert (failed.brokers, failed.code) == (("a", "b"), 14) and "2 tries" in str(failed)
    assert SendFailed("T", ["a"], TimedOut("late")).code == 0
    assert "T" in str(NoRoute("T")) and NoRoute("T").topic == "T"


def test_errors_are_named_by_the_module_that_programs_import_them_from() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ClientError)]
    for kind in kinds:
        assert getattr(import_module(kind.__module__), kind.__name__) is kind
        assert kind.__module__ == "mqgateway"
    assert pickle.loads(pickle.dumps(TimedOut("late"))).args == ("late",)


def test_trimmed_error_keeps_frames_of_what_others_raised() -> None:
    def failed() -> ClientError:
        try:
            try:
                raise KeyError("theirs")
            except KeyError as cause:
                raise Unreachable("ours") from cause
        except ClientError as error:
            return error

    error = trimmed(failed())
    assert error.__traceback__ is None
    assert error.__cause__ is not None and error.__cause__.__traceback__ is not None
