from tests.support.gateway.console import ConsoleBrowser, ConsoleWorld, console


def test_session_state_before_and_after_login() -> None:
    world = ConsoleWorld()
    assert ConsoleBrowser(world).get("/session") == {
        "isIn": False,
        "user": "",
        "role": "nobody",
        "login": "link",
        "csrf": "",
        "isReadOnly": False,
        "broker": "",
    }
    browser = ConsoleBrowser(world).log_in()
    answer = browser.get("/session")
    assert (answer["isIn"], answer["role"], answer["broker"]) == (True, "admin", "broker-a")
    assert answer["csrf"] == browser.csrf != ""


def test_users_log_in_by_password() -> None:
    world = ConsoleWorld(users=("alice",))
    anonymous = ConsoleBrowser(world)
    assert anonymous.get("/session")["login"] == "password"
    assert anonymous.refused("POST", "/session", {"user": "alice", "password": "x"})[0] == 401
    assert anonymous.refused("POST", "/session", {"token": "x"})[0] == 401
    assert ConsoleBrowser(world).log_in("alice").get("/session")["user"] == "alice"


def test_login_within_a_session_needs_its_token() -> None:
    browser = console()
    token = {"token": browser.world.entrance.link_token}
    assert browser.ask("POST", "/session", token, {"x-console-token": ""}).code == 403
