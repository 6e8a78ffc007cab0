"""Users and policies."""

from mqgateway.gateway.codec.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo


def test_a_user() -> None:
    user = UserInfo.decode(b'{"password":"p","userType":"Super","username":"alice"}')
    assert user == UserInfo("alice", "p", "Super")
    assert UserInfo("alice", user_type="Normal", user_status="enable").encode() == (
        b'{"userStatus":"enable","userType":"Normal","username":"alice"}'
    )


def test_policies() -> None:
    entry = PolicyEntryInfo("Topic:T*", ["Pub"], ["10.0.0.0/8"], "Allow")
    acl = AclInfo("User:alice", [PolicyInfo("Custom", [entry])])
    assert acl.encode() == (
        b'{"policies":[{"entries":[{"actions":["Pub"],"decision":"Allow","resource":"Topic:T*",'
        b'"sourceIps":["10.0.0.0/8"]}],"policyType":"Custom"}],"subject":"User:alice"}'
    )
