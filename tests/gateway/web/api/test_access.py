import pytest

from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld, console


@pytest.fixture
def root() -> ConsoleBrowser:
    return ConsoleBrowser(
        ConsoleWorld(users=("alice", "bob"), policies={"alice": [("Topic:T", "Pub")]})
    ).log_in("root")


def test_users_and_policies_without_passwords(root: ConsoleBrowser) -> None:
    answer = root.get("/users")
    types = {row["user"]: row["type"] for row in answer["rows"]}
    assert types == {"alice": "Normal", "bob": "Normal", "root": "Super"}
    assert answer["isOn"] and answer["authorizes"] and "password" not in str(answer)
    [policy] = answer["rows"][0]["policies"]
    assert (policy["resource"], policy["actions"], policy["decision"]) == ("Topic:T", ["Pub"], "Allow")
    assert root.get("/users?search=bo")["total"] == 1


def test_made_changed_and_deleted(root: ConsoleBrowser) -> None:
    root.do("POST", "/users", {"user": "carol", "password": "carol"})
    assert root.refused("POST", "/users", {"user": "carol", "password": "x"})[0] == 400
    carol = ConsoleBrowser(root.world).log_in("carol")
    assert carol.refused("GET", "/users")[0] == 403
    root.do("PUT", "/users/carol", {"status": "disable"})
    assert carol.refused("GET", "/topics")[0] == 401
    root.do("DELETE", "/users/carol")
    assert root.refused("DELETE", "/users/carol")[0] == 404
    assert root.refused("PUT", "/users/carol", {"status": "enable"})[0] == 400
    assert root.refused("DELETE", "/users/root")[0] == 409
    assert "carol" not in [entry.get("password") for entry in root.get("/audit")["rows"]]


def test_policies_take_effect_at_once(root: ConsoleBrowser) -> None:
    bob = ConsoleBrowser(root.world).log_in("bob")
    assert bob.refused("GET", "/topics")[0] == 403
    given = {"resource": "Cluster:*", "actions": ["Get"]}
    root.do("PUT", "/users/bob/policies", given)
    assert bob.get("/topics")["rows"] == []
    question = "/decision?user=bob&resource=Cluster:DefaultCluster&action="
    assert root.get(question + "Get") == {"isAllowed": True, "refusal": "", "entry": "Cluster:*"}
    assert not root.get(question + "Update")["isAllowed"]
    root.do("DELETE", "/users/bob/policies?resource=Cluster:*")
    assert bob.refused("GET", "/topics")[0] == 403


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/users/bob/policies", {"resource": "Nonsense:x", "actions": ["Get"]}),
        ("PUT", "/users/bob/policies", {"resource": "Topic:x", "actions": ["Dance"]}),
        ("PUT", "/users/none/policies", {"resource": "Topic:x", "actions": ["Get"]}),
        ("DELETE", "/users/bob/policies?resource=Nonsense", None),
        ("DELETE", "/users/bob/policies?resource=Topic:x", None),
        ("GET", "/decision?user=bob&resource=Topic:x&action=Dance", None),
        ("GET", "/decision?user=none&resource=Topic:x&action=Get", None),
        ("POST", "/users", {"user": "x", "password": " "}),
    ],
)
def test_invalid_requests_are_rejected(
    root: ConsoleBrowser, method: str, path: str, body: dict[str, object] | None
) -> None:
    assert root.refused(method, path, body)[0] == 400


def test_without_access_control_there_are_no_users() -> None:
    browser = console()
    assert browser.get("/users")["isOn"] is False
    assert browser.refused("POST", "/users", {"user": "a", "password": "b"})[0] == 409


def test_access_to_a_topic_lists_matching_entries_most_specific_first(root: ConsoleBrowser) -> None:
    for resource, actions in (("Topic:*", ["Sub"]), ("Topic:T*", ["Get"]), ("Topic:Other", ["Pub"])):
        root.do("PUT", "/users/bob/policies", {"resource": resource, "actions": actions})
    answer = root.get("/topics/T/access")
    assert answer["authorizes"]
    rows = {row["user"]: row for row in answer["rows"]}
    assert list(rows) == ["alice", "bob", "root"] and rows["root"]["isSuper"]
    assert [one["resource"] for one in rows["alice"]["policies"]] == ["Topic:T"]
    assert [(one["resource"], one["actions"]) for one in rows["bob"]["policies"]] == [
        ("Topic:T*", ["Get"]),
        ("Topic:*", ["Sub"]),
    ]
    root.do("PUT", "/users/alice", {"status": "disable"})
    assert {row["user"]: row["isDisabled"] for row in root.get("/topics/T/access")["rows"]}["alice"]


def test_without_access_control_no_user_is_listed_for_a_topic() -> None:
    assert console().get("/topics/T/access") == {"authorizes": False, "rows": []}
