from mqgateway.engine.options import BrokerOptions, OptionSet


def test_there_are_no_tokens_unless_their_keys_are_set() -> None:
    options = BrokerOptions()
    assert options.kafka_oauthbearer_jwks_url == options.kafka_delegation_token_secret_key == ""
    assert "OAUTHBEARER" not in options.kafka_sasl_mechanisms
    OptionSet(options).set("kafkaOauthbearerJwksUrl", "file:///etc/keys.json")
    assert options.kafka_oauthbearer_jwks_url == "file:///etc/keys.json"


def test_times_of_tokens_are_those_of_apache_kafka() -> None:
    options = BrokerOptions()
    assert options.kafka_oauthbearer_jwks_refresh_millis == 3_600_000
    assert options.kafka_oauthbearer_clock_skew_seconds == 30
    assert options.kafka_delegation_token_max_lifetime_millis == 7 * 86_400_000
    assert options.kafka_delegation_token_expiry_time_millis == 86_400_000
