//! Records to and from partitions, without a group.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};
use rdkafka::{ClientConfig, ClientContext, Offset, TopicPartitionList};
use serde_json::{json, Value};

use crate::{number, text, Outcome};

const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(200);

/// Keeps what came of each record, by its number.
#[derive(Default)]
struct Deliveries(Mutex<HashMap<usize, Result<(i32, i64), KafkaError>>>);

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<usize>;

    fn delivery(&self, result: &DeliveryResult<'_>, number: Box<usize>) {
        let outcome = match result {
            Ok(message) => Ok((message.partition(), message.offset())),
            Err((error, _)) => Err(error.clone()),
        };
        self.0.lock().unwrap().insert(*number, outcome);
    }
}

/// Sends records; returns where each was written.
pub fn produce(request: &Value) -> Outcome {
    let idempotent = request["idempotent"].as_bool().unwrap_or_default();
    let producer: BaseProducer<Deliveries> = ClientConfig::new()
        .set("bootstrap.servers", text(request, "bootstrap"))
        .set("acks", text(request, "acks"))
        .set("compression.type", text(request, "compression"))
        .set("enable.idempotence", idempotent.to_string())
        .set("linger.ms", "20")
        .set("message.max.bytes", "8000000")
        .set("message.timeout.ms", "60000")
        .create_with_context(Deliveries::default())?;
    let records = request["records"].as_array().ok_or("no records")?;
    for (number, one) in records.iter().enumerate() {
        let record = BaseRecord {
            topic: text(request, "topic"),
            partition: one["partition"].as_i64().map(|partition| partition as i32),
            payload: one["value"].as_str(),
            key: one["key"].as_str(),
            timestamp: one["timestamp"].as_i64(),
            headers: headers(one),
            delivery_opaque: Box::new(number),
        };
        producer.send(record).map_err(|(error, _)| error)?;
    }
    producer.flush(PATIENCE)?;
    let mut deliveries = producer.client().context().0.lock().unwrap();
    let mut places = Vec::new();
    for number in 0..records.len() {
        let (partition, offset) = deliveries.remove(&number).ok_or("not delivered")??;
        places.push(json!({"partition": partition, "offset": offset}));
    }
    Ok(places.into())
}

fn headers(record: &Value) -> Option<OwnedHeaders> {
    let pairs = record["headers"].as_array()?;
    Some(pairs.iter().fold(OwnedHeaders::new(), |headers, pair| {
        headers.insert(Header { key: pair[0].as_str().unwrap_or_default(), value: pair[1].as_str() })
    }))
}

/// Returns the settings of a consumer.
pub fn settings(request: &Value) -> ClientConfig {
    let mut settings = ClientConfig::new();
    settings
        .set("bootstrap.servers", text(request, "bootstrap"))
        .set("group.id", "none")
        .set("enable.auto.commit", "false")
        .set("fetch.message.max.bytes", "2000000");
    settings
}

/// Returns a record for the answer.
pub fn shape(message: &BorrowedMessage) -> Value {
    let headers: Vec<Value> = message
        .headers()
        .map(|headers| headers.iter().map(|one| json!([one.key, content(one.value)])).collect())
        .unwrap_or_default();
    json!({
        "partition": message.partition(),
        "offset": message.offset(),
        "key": content(message.key()),
        "value": content(message.payload()),
        "headers": headers,
        "timestamp": message.timestamp().to_millis(),
    })
}

fn content(bytes: Option<&[u8]>) -> Value {
    bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).into()
}

/// Reads partitions from given offsets until as many records came, or the time is over.
pub fn consume(request: &Value) -> Outcome {
    let consumer: BaseConsumer = settings(request).create()?;
    let mut starts = TopicPartitionList::new();
    for start in request["starts"].as_array().ok_or("no starts")? {
        let partition = start[0].as_i64().unwrap_or_default() as i32;
        let offset = Offset::Offset(start[1].as_i64().unwrap_or_default());
        starts.add_partition_offset(text(request, "topic"), partition, offset)?;
    }
    consumer.assign(&starts)?;
    let end = Instant::now() + Duration::from_millis(number(request, "millis") as u64);
    let mut came = Vec::new();
    while came.len() < number(request, "count") as usize && Instant::now() < end {
        if let Some(message) = consumer.poll(STEP) {
            came.push(shape(&message?));
        }
    }
    Ok(came.into())
}

/// Returns the offset of the first record of a time or a later one.
pub fn offset(request: &Value) -> Outcome {
    let consumer: BaseConsumer = settings(request).create()?;
    let mut asked = TopicPartitionList::new();
    let time = Offset::Offset(number(request, "timestamp"));
    asked.add_partition_offset(text(request, "topic"), number(request, "partition") as i32, time)?;
    let found = consumer.offsets_for_times(asked, PATIENCE)?;
    Ok(found.elements()[0].offset().to_raw().into())
}
