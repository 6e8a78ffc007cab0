"""The public names: what they are, and that a program pays only for those that it uses."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mqgateway
from mqgateway.gateway import client

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("admin", "aio", "allocation", "deferred", "selectors", "testing")
SERVERS_ONLY = {"click", "construct", "psutil", "pythonjsonlogger", "rich"}


def loaded_by(statement: str) -> set[str]:
    """Modules that a fresh interpreter has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_the_short_names_are_those_of_the_client() -> None:
    assert set(mqgateway.__all__) == set(client.__all__) <= set(dir(mqgateway))
    assert all(getattr(mqgateway, name) is getattr(client, name) for name in mqgateway.__all__)


def test_asyncio_has_every_name_of_the_blocking_api() -> None:
    aio = import_module("mqgateway.aio")
    assert set(aio.__all__) == set(mqgateway.__all__)
    own = {name for name in aio.__all__ if getattr(aio, name) is not getattr(mqgateway, name)}
    consumers = {"LitePullConsumer", "PullConsumer", "PushConsumer", "SimpleConsumer"}
    assert own == {"Admin", "Producer", "TransactionListener", "TransactionProducer"} | consumers


def test_administration_has_the_configurations_that_it_takes() -> None:
    admin = import_module("mqgateway.admin")
    assert admin.TopicConfig is mqgateway.TopicConfig
    assert admin.SubscriptionGroupConfig is mqgateway.SubscriptionGroupConfig


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'mqgateway' has no attribute 'Prodcer'"):
        mqgateway.Prodcer  # noqa: B018


@pytest.mark.parametrize("module_name", MODULES)
def test_public_module_has_what_it_exports(module_name: str) -> None:
    module = import_module(f"mqgateway.{module_name}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_package_alone_loads_nothing() -> None:
    loaded = loaded_by("import mqgateway")
    assert {name for name in loaded if name.startswith(("mqgateway.", "twisted"))} == set()


def test_the_client_loads_neither_server_nor_commands() -> None:
    loaded = loaded_by("from mqgateway import Producer, PushConsumer\nimport mqgateway.aio, mqgateway.admin")
    assert loaded & SERVERS_ONLY == set()
    ours = {name for name in loaded if name.startswith("mqgateway.")}
    servers = ("mqgateway.gateway.broker.", "mqgateway.gateway.namesrv.", "mqgateway.gateway.cli.")
    assert {name for name in ours if name.startswith(servers)} == set()
    assert ours & {f"mqgateway.engine.options.{name}" for name in ("broker", "store", "namesrv")} == set()
    assert {name for name in ours if name.startswith("mqgateway.engine.store.")} == {
        "mqgateway.engine.store.client_elements",
        "mqgateway.engine.store.record",
    }


def test_the_commands_load_what_is_needed_by_all_of_them() -> None:
    """Help, errors and completion come before what a server or a client needs."""
    loaded = loaded_by("import mqgateway.gateway.cli.main")
    assert loaded & {"psutil", "construct", "twisted", "asyncio", "rich"} == set()
    assert not [
        name for name in loaded if name.startswith(("mqgateway.gateway.b", "mqgateway.gateway.client."))
    ]


def test_pytest_loads_no_server_before_a_test_wants_one() -> None:
    loaded = loaded_by("import mqgateway.gateway.pytest_plugin")
    assert {name for name in loaded if name.startswith(("mqgateway.gateway.", "twisted"))} == {
        "mqgateway.gateway.pytest_plugin"
    }


def test_spark_module_without_pyspark_reports_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mqgateway.spark", "mqgateway.pipeline.spark"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'mqgateway\[spark\]'"):
        import_module("mqgateway.spark")
