from tests.support.gateway.console import console


def test_settings_with_what_they_mean() -> None:
    browser = console()
    rows = {row["name"]: row for row in browser.get("/settings")["rows"]}
    assert (
        rows["storePathRootDir"]["fixed"] == "read at start only"
        and rows["brokerName"]["value"] == "broker-a"
    )
    assert rows["configBlackList"]["fixed"] == "on the black list"
    port = rows["consolePort"]
    assert port["isOurs"] and port["meaning"].startswith("Port of the web console")
    assert rows["maxMessageSize"]["fixed"] == "" and rows["maxMessageSize"]["unit"] == "bytes"
    assert port["group"] == "Web console" and rows["brokerName"]["group"] == "Names and addresses"
    assert {row["name"] for row in browser.get("/settings?search=consoleport")["rows"]} == {"consolePort"}


def test_changed_while_it_runs() -> None:
    browser = console()
    answer = browser.do(
        "PUT", "/settings", {"changes": {"maxMessageSize": "1000", "autoCreateTopicEnable": "false"}}
    )
    assert answer["before"] == {"maxMessageSize": "4194304", "autoCreateTopicEnable": "true"}
    assert answer["after"] == {"maxMessageSize": "1000", "autoCreateTopicEnable": "false"}
    changed = browser.get("/settings?changed=true")["rows"]
    assert {row["name"] for row in changed} == {"maxMessageSize", "autoCreateTopicEnable"}
    assert browser.get("/audit")["rows"][0]["before"]["maxMessageSize"] == "4194304"


def test_all_or_none() -> None:
    browser = console()
    for changes, code in (
        ({"maxMessageSize": "1000", "nonsense": "1"}, 400),
        ({"maxMessageSize": "many"}, 400),
        ({"storePathRootDir": "b"}, 400),
        ({"configBlackList": ""}, 403),
        ({}, 400),
    ):
        assert browser.refused("PUT", "/settings", {"changes": changes})[0] == code
    assert browser.get("/settings?changed=true")["rows"] == []


def test_secrets_stay_hidden() -> None:
    secret = '{"accessKey":"a","secretKey":"s3cret"}'
    browser = console(inner_client_authentication_credentials=secret)
    changes = {"innerClientAuthenticationCredentials": secret.replace("s3cret", "s3cret too")}
    code, why = browser.refused("PUT", "/settings", {"changes": changes})
    assert code == 400 and "s3cret" not in why
    for path in ("/settings", "/audit"):
        assert "s3cret" not in str(browser.get(path))
