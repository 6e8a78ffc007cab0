"""Commands about name servers: keys, settings, permissions of brokers.

Standard: the package `command.namesrv` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.client.admin_question import Question
from mqgateway.gateway.mqadmin.declaration import CommandCall, CommandOption, NameKind, Row, Text, command
from mqgateway.gateway.mqadmin.rendering import each, shown

_NAMESPACE = CommandOption("s", "namespace", "namespace of the key", required=True)
_KEY = CommandOption("k", "key", "key", required=True)


@command(
    "updateKvConfig",
    _KEY,
    _NAMESPACE,
    CommandOption("v", "value", "value", required=True),
    text=each("create or update kv config to namespace success.\n"),
)
def put_value(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateKvConfigCommand`."""
    namespace, key, value = (call.given.need(one) for one in "skv")
    call.servers.change_names(names.put_value(namespace, key, value))
    yield {"namespace": namespace, "key": key, "value": value}


@command(
    "deleteKvConfig",
    _KEY,
    _NAMESPACE,
    text=each("delete kv config from namespace success.\n"),
)
def delete_value(call: CommandCall) -> Iterator[Row]:
    """Standard: `DeleteKvConfigCommand`."""
    namespace, key = call.given.need("s"), call.given.need("k")
    call.servers.change_names(names.delete_value(namespace, key))
    yield {"namespace": namespace, "key": key}


def _permission_text(what: str) -> Text:
    done = f"{what} write perm of broker[{{brokerName}}] in name server[{{nameServer}}] OK, {{topics}}\n"
    return each(done)


def _permission(call: CommandCall, question: Callable[[str], Question[int]]) -> Iterator[Row]:
    name = call.given.need("b")
    for address in call.servers.name_servers:
        with call.servers.part(address):
            count = call.servers.change(question(name), address)
            yield {"nameServer": address, "brokerName": name, "topics": count}


_BROKER_NAME = CommandOption("b", "brokerName", "broker name", required=True, values=NameKind.BROKER)


@command(
    "wipeWritePerm",
    _BROKER_NAME,
    text=_permission_text("wipe"),
)
def forbid_writing(call: CommandCall) -> Iterator[Row]:
    """Standard: `WipeWritePermSubCommand`."""
    return _permission(call, names.forbid_writing)


@command("addWritePerm", _BROKER_NAME, text=_permission_text("add"))
def allow_writing(call: CommandCall) -> Iterator[Row]:
    """Standard: `AddWritePermSubCommand`."""
    return _permission(call, names.allow_writing)


def _settings_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown("============{nameServer}============\n", row)
        for name, value in sorted(row["settings"].items()):
            yield shown("{name:<50}=  {value}\n", {"name": name, "value": value})


@command("getNamesrvConfig", text=_settings_text)
def settings(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetNamesrvConfigCommand`."""
    for address in call.servers.name_servers:
        with call.servers.part(address):
            yield {"nameServer": address, "settings": call.servers.ask(names.settings(), address)}


def _update_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    found = [row["nameServer"] for row in rows]
    key, value = call.given.need("k"), call.given.need("v")
    shown_names = f"[{', '.join(found)}]" if "n" in call.given else ""
    if found:
        yield f"update name server config success!{shown_names}\n{key} : {value}\n"


@command(
    "updateNamesrvConfig",
    CommandOption("k", "key", "name of the setting", required=True),
    CommandOption("v", "value", "new value", required=True),
    text=_update_text,
)
def update_settings(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateNamesrvConfigCommand`."""
    key, value = call.given.need("k"), call.given.need("v")
    for address in call.servers.name_servers:
        with call.servers.part(address):
            note = call.servers.change(names.update_settings({key: value}), address)
            if note:
                call.remark(f"{address}: {note}")
            yield {"nameServer": address, "key": key, "value": value}
