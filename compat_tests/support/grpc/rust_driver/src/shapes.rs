//! Messages as JSON, both ways.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rocketmq::conf::ClientOption;
use rocketmq::error::ClientError;
use rocketmq::model::message::{Message, MessageBuilder, MessageView};
use serde_json::{json, Value};

use crate::text;

const SHOWN_BYTES: usize = 1024;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

pub fn client_option(request: &Value) -> ClientOption {
    let mut option = ClientOption::default();
    option.set_access_url(text(request, "endpoints"));
    option.set_enable_tls(request["tls"].as_bool().unwrap_or(false));
    option.set_timeout(REQUEST_TIMEOUT);
    option
}

/// A message to send. This client takes the time at which a delayed one is due in seconds.
pub fn message_of(shape: &Value, is_half: bool) -> Result<impl Message, ClientError> {
    let body = match shape["size"].as_u64() {
        Some(size) => (0..size).map(|i| (i % 251) as u8).collect(),
        None => text(shape, "body").into_bytes(),
    };
    let mut made = MessageBuilder::builder().set_topic(text(shape, "topic")).set_body(body);
    if let Some(tag) = shape["tag"].as_str() {
        made = made.set_tag(tag);
    }
    if let Some(keys) = shape["keys"].as_array() {
        made = made.set_keys(keys.iter().filter_map(Value::as_str).collect());
    }
    if let Some(properties) = shape["properties"].as_object() {
        let pairs = properties.iter().map(|(name, value)| (name, value.as_str().unwrap_or("")));
        made = made.set_properties(pairs.collect::<HashMap<_, _>>());
    }
    if let Some(group) = shape["group"].as_str() {
        made = made.set_message_group(group);
    }
    if let Some(delay) = shape["delay"].as_u64() {
        made = made.set_delivery_timestamp(((now() + delay) / 1000) as i64);
    }
    if is_half {
        made = made.enable_transaction();
    }
    made.build()
}

/// A message as the user sees it; of times this client tells seconds.
pub fn received(from: &MessageView) -> Value {
    let body = from.body();
    let shown = if body.len() > SHOWN_BYTES { "".into() } else { String::from_utf8_lossy(body) };
    json!({
        "messageId": from.message_id(),
        "topic": from.topic(),
        "size": body.len(),
        "md5": format!("{:x}", md5::compute(body)),
        "body": shown,
        "properties": from.properties(),
        "keys": from.keys(),
        "tag": from.tag(),
        "group": from.message_group(),
        "deliveryTimestamp": from.delivery_timestamp().map(|seconds| seconds * 1000),
        "bornHost": from.born_host(),
        "bornTimestamp": from.born_timestamp() * 1000,
        "attempt": from.delivery_attempt(),
        "receivedAt": now(),
    })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis() as u64
}
