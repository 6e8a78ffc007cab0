"""The rules in force: read at the start, checked for changes every few seconds, changed by requests.

A file that becomes unreadable keeps its last content, and the log reports it. A worker does all disk work,
one task after another, so that a check sees a change whole. RocketMQ: `PlainPermissionManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.worker import Worker
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.plain.accounts import check_given
from mqgateway.gateway.access.plain.addresses import parse_white_address
from mqgateway.gateway.access.plain.changes import with_account, with_addresses, without_account
from mqgateway.gateway.access.plain.documents import Tree
from mqgateway.gateway.access.plain.folder import AclFolder, Files, KnownFile
from mqgateway.gateway.access.plain.rules import AclRules
from mqgateway.gateway.codec.version_4 import (
    AclDataVersion,
    GetBrokerClusterAclConfigResponseBody,
    PlainAccessConfig,
)

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Interval between checks of the files; changes by hand are in force within five seconds."""


class AclRulesKeeper:
    """The rules of a broker. `load` first."""

    def __init__(self, options: BrokerOptions, disk: Disk, worker: Worker, clock: Clock) -> None:
        self._folder = AclFolder(disk, options, clock)
        self._worker = worker
        self._is_looking = False
        self._problems: list[str] = []
        self._began = clock.millis()
        self.rules = AclRules({})

    def load(self) -> None:
        """Read all files synchronously. Raises `ConfigError` if one cannot be used."""
        try:
            files, problems = self._folder.read({})
        except OSError as error:
            raise ConfigError(f"aclEnable: files of rules cannot be read: {error}") from None
        if problems:
            raise ConfigError("; ".join(problems))
        self._adopt(files)
        if not self.rules:
            log.warning(
                "there are no accounts: only whitelisted addresses are accepted; create %s", self._folder.main
            )

    def look(self) -> None:
        """Read the files that have changed; called every `LOOK_SECONDS`."""
        if self._is_looking:
            return
        self._is_looking = True
        known = self.rules.files
        self._worker.run(lambda: self._folder.read(known), self._looked)

    def put_account(self, config: PlainAccessConfig) -> Deferred[None]:
        """Create an account, or change the values that are given, durably. Raises `AccessError`."""
        check_given(config)
        parse_white_address(config.white_remote_address)
        path = self.rules.path_of.get(config.access_key or "", self._folder.main)
        return self._change(path, lambda tree: with_account(tree, config))

    def delete_account(self, access_key: str) -> Deferred[None] | None:
        """Delete an account from its file, durably; None if there is no such account."""
        path = self.rules.path_of.get(access_key)
        return None if path is None else self._change(path, lambda tree: without_account(tree, access_key))

    def put_addresses(self, addresses: Sequence[str], path: str) -> Deferred[None] | None:
        """Set the addresses that need no signature, durably. An empty `path` is the first file; None is
        returned if there is no such file.

        Raises `AccessError` for an invalid address.
        """
        for address in addresses:
            parse_white_address(address)
        if path not in ("", self._folder.main, *self.rules.files):
            return None
        return self._change(path or self._folder.main, lambda tree: with_addresses(tree, addresses))

    def config(self) -> GetBrokerClusterAclConfigResponseBody:
        """Return all rules in force, with secrets."""
        addresses: list[str] = []
        configs: list[PlainAccessConfig] = []
        for path, document in self.rules.documents():
            addresses += document.addresses
            configs += [
                one for one in document.configs if self.rules.path_of.get(one.access_key or "") == path
            ]
        return GetBrokerClusterAclConfigResponseBody(addresses, configs)

    def versions(self) -> tuple[AclDataVersion, dict[str, AclDataVersion]]:
        """Return the version of the first file, and of each file by path."""
        versions = {path: document.version for path, document in self.rules.documents()}
        return versions.get(self._folder.main, AclDataVersion(0, self._began)), versions

    def _change(self, path: str, edit: Callable[[Tree], Tree]) -> Deferred[None]:
        done: Deferred[None] = Deferred()

        def changed(outcome: KnownFile | Exception) -> None:
            if isinstance(outcome, KnownFile):
                self._adopt({**self.rules.files, path: outcome})
                done.callback(None)
            elif isinstance(outcome, ConfigError | OSError):
                log.error("%s was not changed: %s", path, outcome)
                done.errback(AccessError(str(outcome)))
            else:
                done.errback(outcome)

        self._worker.run(lambda: self._folder.change(path, edit), changed)
        return done

    def _looked(self, outcome: tuple[Files, list[str]] | Exception) -> None:
        self._is_looking = False
        files, problems = (self.rules.files, [str(outcome)]) if isinstance(outcome, Exception) else outcome
        for problem in problems:
            if problem not in self._problems:
                log.error("%s; the previous rules remain in effect", problem)
        self._problems = problems
        if files != self.rules.files:
            self._adopt(files)

    def _adopt(self, files: Files) -> None:
        """Put rules in force, and log warnings about new ones."""
        before, self.rules = self.rules, AclRules(files)
        for path, document in self.rules.documents():
            known = before.files.get(path)
            if known is None or known.document is not document:
                log.info(
                    "%s: %d accounts, %d whitelisted addresses",
                    path,
                    len(document.accounts),
                    len(document.addresses),
                )
                for warning in document.warnings:
                    log.warning("%s", warning)
        for access_key, path in self.rules.repeated():
            log.warning("%s: accessKey %s is in %s already", path, access_key, self.rules.path_of[access_key])
