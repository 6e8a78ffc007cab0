//! Simple consumers: each call asks for one topic, and what came can be acknowledged.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use rocketmq::conf::SimpleConsumerOption;
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageView;
use rocketmq::SimpleConsumer;
use serde_json::{json, Value};

use crate::shapes::{client_option, received};
use crate::{text, unknown, Outcome, Table};

/// The time to wait is the deadline of the call, too, and a server wants to have some left.
const ON_THE_WAY: Duration = Duration::from_secs(2);

struct Driven {
    consumer: SimpleConsumer,
    subscriptions: Vec<(String, Value)>,
    turn: AtomicUsize,
    receipts: Mutex<Vec<Option<MessageView>>>,
}

pub struct Consumers(Table<Driven>);

impl Consumers {
    pub fn new() -> Self {
        Consumers(Table::new())
    }

    pub async fn run(&self, op: &str, request: &Value) -> Outcome {
        match op {
            "start" => self.start(request).await,
            "stop" => Ok(json!(self.0.take(request)?.consumer.shutdown().await?)),
            "receive" => self.receive(request).await,
            "ack" => self.ack(request).await,
            _ => Err(unknown(op)),
        }
    }

    async fn start(&self, request: &Value) -> Outcome {
        let wanted = request["subscriptions"].as_object().into_iter().flatten();
        let subscriptions: Vec<_> = wanted.map(|(topic, tags)| (topic.clone(), tags.clone())).collect();
        let mut option = SimpleConsumerOption::default();
        option.set_consumer_group(text(request, "group"));
        option.set_topics(subscriptions.iter().map(|(topic, _)| topic).collect());
        let mut client = client_option(request);
        let wait = Duration::from_millis(request["await"].as_u64().unwrap_or(5000));
        client.set_long_polling_timeout(wait + ON_THE_WAY);
        let mut consumer = SimpleConsumer::new(option, client)?;
        consumer.start().await?;
        let receipts = Mutex::new(Vec::new());
        self.0.put(request, Driven { consumer, subscriptions, turn: AtomicUsize::new(0), receipts });
        Ok(Value::Null)
    }

    async fn receive(&self, request: &Value) -> Outcome {
        let client = self.0.get(request)?;
        let turn = client.turn.fetch_add(1, Ordering::Relaxed);
        let (topic, wanted) = &client.subscriptions[turn % client.subscriptions.len()];
        let expression = match wanted["sql"].as_str() {
            Some(sql) => FilterExpression::new(FilterType::Sql, sql),
            None => FilterExpression::new(FilterType::Tag, wanted.as_str().unwrap_or("*")),
        };
        let most = request["max"].as_i64().unwrap_or(16) as i32;
        let invisible = Duration::from_millis(request["invisible"].as_u64().unwrap_or(20_000));
        let found = match client.consumer.receive_with(topic, &expression, most, invisible).await {
            Ok(found) => found,
            // Its own deadline is as early as that of the server's answer that there is nothing.
            Err(failure) if format!("{failure:?}").contains("Timeout expired") => vec![],
            Err(failure) => return Err(failure.into()),
        };
        let mut receipts = client.receipts.lock().unwrap();
        let mut shapes = Vec::new();
        for message in found {
            let mut shape = received(&message);
            receipts.push(Some(message));
            shape["receipt"] = json!(receipts.len());
            shapes.push(shape);
        }
        Ok(json!(shapes))
    }

    async fn ack(&self, request: &Value) -> Outcome {
        let client = self.0.get(request)?;
        for number in request["receipts"].as_array().into_iter().flatten() {
            let place = number.as_u64().unwrap_or(0) as usize;
            let held = client.receipts.lock().unwrap().get_mut(place.wrapping_sub(1)).and_then(Option::take);
            let message = held.ok_or_else(|| format!("no such receipt, or acknowledged: {place}"))?;
            client.consumer.ack(&message).await?;
        }
        Ok(Value::Null)
    }
}
