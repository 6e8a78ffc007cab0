"""Operations on users and policies: create, update, delete and query them.

Callers are authorized already. Checked here is which callers may change super users, and which values are
valid. RocketMQ: `AuthenticationMetadataManagerImpl`, `AuthorizationMetadataManagerImpl`, and the checks of
`AdminBrokerProcessor` before them.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from mqgateway.engine.options.access import AccessOptions, AuthorizationProfile
from mqgateway.gateway.access.bindings import Binding, bindings_of, policy_with
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.policies import Acl, Policy, PolicyType, Resource
from mqgateway.gateway.access.scram import ScramCredential
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import User, UserStatus, UserType, subject_of

NO_USER = "The user is not exist"
ONLY_SUPER_CREATES = "The super user can only be create by super user"
ONLY_SUPER_UPDATES = "The super user can only be update by super user"


class OnlySuperUsers(AccessError):
    """A caller that is not a super user tried to create or change one."""


class AccessAdministration:
    """Operations on the `tables`. `caller` is a user name, empty where requests are not authenticated."""

    def __init__(self, tables: AccessTables, options: AccessOptions) -> None:
        self.tables = tables
        self._options = options

    def is_super(self, caller: str) -> bool:
        """Return True if the caller is a super user; unnamed callers count as such.

        Raises `AccessError` for an unknown name.
        """
        if not caller:
            return True
        user = self.tables.users.get(caller)
        if user is None:
            raise AccessError(f"User:{caller} is not found")
        return user.is_super

    def shows_passwords(self, caller: str) -> bool:
        """Return True if the caller may see secrets.

        Super users always may, others with `authorizationProfile=standard`.
        """
        if self._options.authorization_profile is AuthorizationProfile.STANDARD or not caller:
            return True
        user = self.tables.users.get(caller)
        return user is not None and user.is_super

    def create_user(
        self,
        caller: str,
        username: str,
        password: str | None,
        user_type: UserType | None,
        status: UserStatus | None,
    ) -> None:
        """Create a user, by default a normal, enabled one. Raises `AccessError`."""
        users = self.tables.users
        if user_type is UserType.SUPER and not self.is_super(caller):
            raise OnlySuperUsers(ONLY_SUPER_CREATES)
        _check_name(username)
        if password is None or not password.strip():
            raise AccessError("password can not be blank")
        if username in users:
            raise AccessError("The user is existed")
        if len(users) >= self._options.max_users:
            raise AccessError(f"there are {len(users)} users already (maxUsers)")
        users.put(User(username, password, user_type or UserType.NORMAL, status or UserStatus.ENABLE))

    def update_user(
        self,
        caller: str,
        username: str,
        password: str | None,
        user_type: UserType | None,
        status: UserStatus | None,
    ) -> None:
        """Update the given attributes of a user. Raises `AccessError`."""
        users = self.tables.users
        if user_type is UserType.SUPER and not self.is_super(caller):
            raise OnlySuperUsers(ONLY_SUPER_UPDATES)
        _check_name(username)
        before = users.get(username)
        if before is None:
            raise AccessError(NO_USER)
        if before.is_super and not self.is_super(caller):
            raise AccessError(ONLY_SUPER_UPDATES)
        has_password = password is not None and bool(password.strip())
        users.put(
            replace(
                before,
                password=password if password is not None and has_password else before.password,
                user_type=user_type or before.user_type,
                status=status or before.status,
                scram=() if has_password else before.scram,  # no older password works any more
            )
        )

    def delete_user(self, caller: str, username: str) -> None:
        """Delete a user and its policies. Succeeds if it does not exist. Raises `AccessError`."""
        _check_name(username)
        user = self.tables.users.get(username)
        if user is None:
            return
        if user.is_super and not self.is_super(caller):
            raise AccessError(ONLY_SUPER_UPDATES)
        self.tables.users.delete(username)
        self.tables.acls.delete(subject_of(username))

    def put_scram_credential(self, caller: str, username: str, credential: ScramCredential) -> None:
        """Set a user's credential of one mechanism; a new user gets a random password.

        Raises `AccessError`.
        """
        if username not in self.tables.users:
            self.create_user(caller, username, secrets.token_urlsafe(), None, None)
        self._set_scram(caller, username, credential.mechanism, (credential,))

    def delete_scram_credential(self, caller: str, username: str, mechanism: str) -> None:
        """Remove a user's credential of one mechanism; its password counts again. Raises `AccessError`."""
        self._set_scram(caller, username, mechanism, ())

    def _set_scram(
        self, caller: str, username: str, mechanism: str, credentials: tuple[ScramCredential, ...]
    ) -> None:
        user = self.tables.users.get(username)
        if user is None:
            raise AccessError(NO_USER)
        if user.is_super and not self.is_super(caller):
            raise OnlySuperUsers(ONLY_SUPER_UPDATES)
        kept = tuple(one for one in user.scram if one.mechanism != mechanism)
        self.tables.users.put(replace(user, scram=(*kept, *credentials)))

    def user(self, username: str) -> User | None:
        """Return the user of this name, None if it does not exist."""
        return self.tables.users.get(username)

    def users(self, name_filter: str = "") -> list[User]:
        """Return the users whose name contains `name_filter`, sorted by name."""
        found = self.tables.users.all()
        wanted = name_filter if name_filter.strip() else ""
        return sorted((user for user in found if wanted in user.username), key=_in_bytes)

    def update_acl(self, username: str, policies: dict[PolicyType, Policy]) -> None:
        """Merge policies into those of a user; entries replace those of the same resource.

        Raises `AccessError`.
        """
        if username not in self.tables.users and set(policies) != {PolicyType.KAFKA}:
            raise AccessError(f"The subject of {subject_of(username)} is not exist.")
        before = self.tables.acl_of(username)
        self.tables.acls.put(self._checked((before or Acl(username, {})).with_policies(policies)))

    def _checked(self, acl: Acl) -> Acl:
        """Return policies that are to be stored. Raises `AccessError` if they exceed a limit."""
        count = sum(len(policy.entries) for policy in acl.policies.values())
        if count > self._options.max_policy_entries_per_user:
            raise AccessError(f"{count} entries are more than maxPolicyEntriesPerUser allows")
        acls, users = self.tables.acls, self.tables.users
        is_new_name = acl.username not in users and acl.key not in acls
        if is_new_name and len(acls) >= self._options.max_users:
            raise AccessError(f"there are policies of {len(acls)} users already (maxUsers)")
        return acl

    def add_bindings(self, username: str, bindings: Iterable[Binding]) -> None:
        """Add bindings of a user, which need not exist. Raises `AccessError`, and then adds none."""
        before = self.tables.acl_of(username) or Acl(username, {})
        after = before.with_bindings(before.bindings.with_entries(policy_with(bindings).entries.values()))
        if after != before:
            self.tables.acls.put(self._checked(after))

    def remove_bindings(self, username: str, bindings: Collection[Binding]) -> set[Binding]:
        """Remove bindings of a user, and return those that are only a part of an entry of ACL 2.0.

        Such an entry stays as it is unless all its bindings are to be removed.
        """
        acl = self.tables.acl_of(username)
        if acl is None:
            return set()
        chosen = set(bindings)
        own = (one for entry in acl.bindings.entries.values() for one in bindings_of(username, entry))
        kept = [one for one in own if one not in chosen]
        left = acl.with_bindings(policy_with(kept))
        partly: set[Binding] = set()
        for kind in (PolicyType.CUSTOM, PolicyType.DEFAULT):
            policy = acl.policies.get(kind)
            for entry in () if policy is None else policy.entries.values():
                shown = set(bindings_of(username, entry))
                if shown <= chosen and shown:
                    left = left.without(kind, entry.resource)
                else:
                    partly |= shown & chosen
        if not left.policies:
            self.tables.acls.delete(acl.key)
        elif left != acl:
            self.tables.acls.put(left)
        return partly

    def bindings(self) -> Iterator[Sequence[Binding]]:
        """Yield the bindings of each entry, of ACL 2.0 too."""
        for acl in list(self.tables.acls.all()):
            for policy in acl.policies.values():
                for entry in policy.entries.values():
                    yield list(bindings_of(acl.username, entry))

    def delete_acl(self, username: str, kind: PolicyType, resource: Resource | None) -> None:
        """Delete a user's entry for one resource, or all its policies. Raises `AccessError`.

        With a custom entry, those of the kind Kafka go too, which RocketMQ's tools cannot name.
        """
        acl = self.acl(username)
        if acl is None:
            raise AccessError("The acl is not exist.")
        left = None if resource is None else acl.without(kind, resource)
        if left is not None and resource is not None and kind is PolicyType.CUSTOM:
            left = left.without(PolicyType.KAFKA, resource)
        if left is None or not left.policies:
            self.tables.acls.delete(acl.key)
        elif left != acl:
            self.tables.acls.put(left)

    def acl(self, username: str) -> Acl | None:
        """Return the policies of a user. Raises `AccessError` if the user does not exist."""
        acl = self.tables.acl_of(username)
        if acl is None and username not in self.tables.users:
            raise AccessError("The subject is not exist.")
        return acl

    def acls(self, subject_filter: str = "") -> list[Acl]:
        """Return the policies whose subject contains `subject_filter`, sorted by subject."""
        wanted = subject_filter if subject_filter.strip() else ""
        found: Iterable[Acl] = (acl for acl in self.tables.acls.all() if wanted in acl.key)
        return sorted(found, key=_in_bytes)


def _check_name(username: str) -> None:
    if not username.strip():
        raise AccessError("username can not be blank")


def _in_bytes(one: User | Acl) -> bytes:
    """Sort key in bytes, as RocketMQ's tables are ordered."""
    return one.key.encode("utf-8", "surrogatepass")
