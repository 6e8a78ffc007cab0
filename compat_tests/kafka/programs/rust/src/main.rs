//! Drives Kafka's client for Rust as requests on standard input say: a JSON object a line, answered by another.
//! It stands on librdkafka, which its package brings along and compiles.

mod member;
mod records;

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};

use rdkafka::error::KafkaError;
use serde_json::{json, Value};

use member::Member;

/// What an operation comes to.
pub type Outcome = Result<Value, Box<dyn Error + Send + Sync>>;

/// Returns a text of a request; empty where it has none.
pub fn text<'a>(request: &'a Value, name: &str) -> &'a str {
    request[name].as_str().unwrap_or_default()
}

/// Returns a number of a request; 0 where it has none.
pub fn number(request: &Value, name: &str) -> i64 {
    request[name].as_i64().unwrap_or_default()
}

#[derive(Default)]
struct Driver {
    members: Mutex<HashMap<String, Arc<Member>>>,
}

impl Driver {
    fn run(&self, request: &Value) -> Outcome {
        match text(request, "op") {
            "produce" => records::produce(request),
            "consume" => records::consume(request),
            "offset" => records::offset(request),
            "join" => {
                let member = Arc::new(Member::new(request)?);
                self.members.lock().unwrap().insert(text(request, "name").to_string(), member);
                Ok(Value::Null)
            }
            "taken" => self.member(request)?.taken(),
            "commit" => self.member(request)?.commit(),
            "leave" => self.member(request)?.leave(),
            other => Err(format!("no operation {other}").into()),
        }
    }

    fn member(&self, request: &Value) -> Result<Arc<Member>, String> {
        let name = text(request, "name");
        self.members.lock().unwrap().get(name).cloned().ok_or_else(|| format!("no member {name}"))
    }

    fn answer(&self, line: &str) -> Value {
        let request: Value = serde_json::from_str(line).expect("a request");
        match self.run(&request) {
            Ok(result) => json!({"id": request["id"], "result": result}),
            Err(failure) => {
                let known = failure.downcast_ref::<KafkaError>();
                let code = known.and_then(KafkaError::rdkafka_error_code).map(|code| code as i32);
                let error = json!({"type": "Error", "code": code, "message": failure.to_string()});
                json!({"id": request["id"], "error": error})
            }
        }
    }
}

fn main() {
    let driver = Arc::new(Driver::default());
    for line in std::io::stdin().lock().lines() {
        let (driver, line) = (driver.clone(), line.expect("text"));
        std::thread::spawn(move || {
            let answer = driver.answer(&line);
            let mut output = std::io::stdout().lock();
            writeln!(output, "{answer}").expect("a reader");
            output.flush().expect("a reader");
        });
    }
    std::process::exit(0);
}
