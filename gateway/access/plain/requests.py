"""Requests about accounts: 50 creates and changes, 51 deletes, 53 sets white addresses, 52 and 54 show.

A change is in the file, and in force, when it is answered. Only a broker with `aclEnable` serves these;
version 5.5.0 knows none of them. RocketMQ: `AdminBrokerProcessor` of 4.9.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.keeper import AclRulesKeeper
from mqgateway.gateway.codec.version_4 import (
    AclRequestCode,
    AclResponseCode,
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    PlainAccessConfig,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError


class BrokerNames(NamedTuple):
    """The broker's names in the answer to 52."""

    broker_name: str
    broker_addr: str
    cluster_name: str


def requests(
    keeper: AclRulesKeeper, names: BrokerNames
) -> dict[int, Callable[[Any, Call], Reply | Deferred[Reply]]]:
    """Return the functions of requests about the accounts of this keeper."""
    table: Mapping[int, Callable[..., Reply | Deferred[Reply]]] = {
        AclRequestCode.UPDATE_AND_CREATE_ACL_CONFIG: _put_account,
        AclRequestCode.DELETE_ACL_CONFIG: _delete_account,
        AclRequestCode.GET_BROKER_CLUSTER_ACL_INFO: lambda keeper, call: _versions(keeper, names),
        AclRequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: _put_addresses,
        AclRequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: _config,
    }

    def served(
        function: Callable[..., Reply | Deferred[Reply]],
    ) -> Callable[[Any, Call], Reply | Deferred[Reply]]:
        return lambda broker, call: function(keeper, call)

    return {int(code): served(function) for code, function in table.items()}


def _put_account(keeper: AclRulesKeeper, call: Call) -> Deferred[Reply]:
    """50 UPDATE_AND_CREATE_ACL_CONFIG."""
    header = call.header
    assert isinstance(header, CreateAccessConfigRequestHeader)
    config = PlainAccessConfig(
        header.access_key,
        header.secret_key,
        header.white_remote_address,
        header.admin,
        header.default_topic_perm,
        header.default_group_perm,
        _split(header.topic_perms),
        _split(header.group_perms),
    )
    return _answered(
        lambda: keeper.put_account(config), AclResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED, ""
    )


def _delete_account(keeper: AclRulesKeeper, call: Call) -> Deferred[Reply]:
    """51 DELETE_ACL_CONFIG."""
    header = call.header
    assert isinstance(header, DeleteAccessConfigRequestHeader)
    access_key = header.access_key
    sentence = f"The accesskey[{access_key}] corresponding to accessConfig has been deleted failed."
    return _answered(
        lambda: keeper.delete_account(access_key), AclResponseCode.DELETE_ACL_CONFIG_FAILED, sentence
    )


def _put_addresses(keeper: AclRulesKeeper, call: Call) -> Deferred[Reply]:
    """53 UPDATE_GLOBAL_WHITE_ADDRS_CONFIG."""
    header = call.header
    assert isinstance(header, UpdateGlobalWhiteAddrsConfigRequestHeader)
    given, path = header.global_white_addrs, header.acl_file_full_path or ""
    return _answered(
        lambda: keeper.put_addresses(_split(given) or [], path),
        AclResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED,
        f"The globalWhiteAddresses[{given}] has been updated failed.",
    )


def _versions(keeper: AclRulesKeeper, names: BrokerNames) -> Reply:
    """52 GET_BROKER_CLUSTER_ACL_INFO."""
    version, by_path = keeper.versions()
    every = orjson.dumps({path: one.to_json() for path, one in by_path.items()}).decode()
    return Reply(
        header=GetBrokerAclConfigResponseHeader(
            version=version.encode().decode(), all_acl_file_version=every, **names._asdict()
        )
    )


def _config(keeper: AclRulesKeeper, call: Call) -> Reply:
    """54 GET_BROKER_CLUSTER_ACL_CONFIG."""
    return Reply(body=keeper.config().encode())


def _answered(
    change: Callable[[], Deferred[None] | None], code: AclResponseCode, sentence: str
) -> Deferred[Reply]:
    """Answer once a change is done. `code` is that of a refusal, and the sentence is for a missing entry.
    Raises `RequestError`.
    """

    def refused(failure: Failure) -> Failure:
        if isinstance(failure.value, AccessError):
            raise RequestError(code, str(failure.value))
        return failure

    try:
        done = change()
    except AccessError as error:
        raise RequestError(code, str(error)) from None
    if done is None:
        raise RequestError(code, sentence)
    return done.addCallbacks(lambda _: Reply(), refused)


def _split(text: str | None) -> list[str] | None:
    """Split at commas, as Java does: empty parts at the end count only in an empty text."""
    if text is None:
        return None
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] and text else parts
