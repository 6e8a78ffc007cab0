//! Producers: what they send, and what they answer about transactions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rocketmq::conf::ProducerOption;
use rocketmq::model::message::MessageView;
use rocketmq::model::transaction::{Transaction, TransactionResolution};
use rocketmq::Producer;
use serde_json::{json, Value};

use crate::inbox::Inbox;
use crate::shapes::{client_option, message_of, received};
use crate::{text, unknown, Outcome, Table};

/// What became of transactions, by the bodies of their messages, and what the server asked about.
#[derive(Default)]
struct Decisions {
    decided: Mutex<HashMap<String, String>>,
    questions: Inbox,
}

impl Decisions {
    fn check(&self, message: &MessageView) -> TransactionResolution {
        self.questions.add(received(message));
        let body = String::from_utf8_lossy(message.body()).into_owned();
        match self.decided.lock().unwrap().get(&body).map(String::as_str) {
            Some("COMMIT") => TransactionResolution::COMMIT,
            Some("ROLLBACK") => TransactionResolution::ROLLBACK,
            _ => TransactionResolution::UNKNOWN,
        }
    }
}

struct Driven {
    producer: Producer,
    decisions: Arc<Decisions>,
}

pub struct Producers(Table<Driven>);

impl Producers {
    pub fn new() -> Self {
        Producers(Table::new())
    }

    pub async fn run(&self, op: &str, request: &Value) -> Outcome {
        match op {
            "start" => self.start(request).await,
            "stop" => Ok(json!(self.0.take(request)?.producer.shutdown().await?)),
            "send" => self.send(request).await,
            "begin" => self.begin(request).await,
            "decide" => self.decide(request),
            "questions" => Ok(self.0.get(request)?.decisions.questions.collect(request).await),
            _ => Err(unknown(op)),
        }
    }

    async fn start(&self, request: &Value) -> Outcome {
        let decisions = Arc::new(Decisions::default());
        let asked = decisions.clone();
        let mut option = ProducerOption::default();
        let topics = request["topics"].as_array().into_iter().flatten();
        option.set_topics(topics.filter_map(Value::as_str).collect());
        let mut producer = Producer::new_transaction_producer(
            option,
            client_option(request),
            Box::new(move |_, message| asked.check(&message)),
        )?;
        producer.start().await?;
        self.0.put(request, Driven { producer, decisions });
        Ok(Value::Null)
    }

    async fn send(&self, request: &Value) -> Outcome {
        let client = self.0.get(request)?;
        let mut sent = Vec::new();
        for shape in request["messages"].as_array().into_iter().flatten() {
            let receipt = client.producer.send(message_of(shape, false)?).await?;
            sent.push(receipt_shape(receipt.message_id(), receipt.transaction_id()));
        }
        Ok(json!(sent))
    }

    async fn begin(&self, request: &Value) -> Outcome {
        let client = self.0.get(request)?;
        let message = message_of(&request["message"], true)?;
        let transaction = client.producer.send_transaction_message(message).await?;
        let shape = receipt_shape(transaction.message_id(), transaction.transaction_id());
        match request["resolution"].as_str() {
            Some("COMMIT") => transaction.commit().await?,
            Some("ROLLBACK") => transaction.rollback().await?,
            _ => (),
        }
        Ok(shape)
    }

    fn decide(&self, request: &Value) -> Outcome {
        let client = self.0.get(request)?;
        let mut decided = client.decisions.decided.lock().unwrap();
        for body in request["bodies"].as_array().into_iter().flatten() {
            decided.insert(body.as_str().unwrap_or("").to_string(), text(request, "state"));
        }
        Ok(Value::Null)
    }
}

fn receipt_shape(message_id: &str, transaction_id: &str) -> Value {
    json!({"messageId": message_id, "transactionId": transaction_id})
}
