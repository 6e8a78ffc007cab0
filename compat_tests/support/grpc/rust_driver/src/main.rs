//! Drives the official Rust client from outside: one request a line on standard input, one answer a line on
//! standard output, both JSON. Requests, operations and shapes are those of the program that drives the Java
//! client, `java/driver`; this client has producers and simple consumers only.

mod consumers;
mod inbox;
mod producers;
mod shapes;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};

use serde_json::{json, Value};

use consumers::Consumers;
use producers::Producers;

/// What an operation comes to; an error is told to whoever asked.
pub type Outcome = Result<Value, Box<dyn std::error::Error + Send + Sync>>;

/// Clients by the names that requests give them.
pub struct Table<T>(Mutex<HashMap<String, Arc<T>>>);

impl<T> Table<T> {
    pub fn new() -> Self {
        Table(Mutex::new(HashMap::new()))
    }

    pub fn put(&self, request: &Value, client: T) {
        let name = text(request, "name");
        self.0.lock().unwrap().insert(name, Arc::new(client));
    }

    pub fn get(&self, request: &Value) -> Result<Arc<T>, String> {
        let name = text(request, "name");
        let found = self.0.lock().unwrap().get(&name).cloned();
        found.ok_or_else(|| format!("no such client: {name}"))
    }

    /// The client itself, which nobody else may be using.
    pub fn take(&self, request: &Value) -> Result<T, String> {
        let name = text(request, "name");
        let found = self.0.lock().unwrap().remove(&name);
        let client = found.ok_or_else(|| format!("no such client: {name}"))?;
        Arc::into_inner(client).ok_or_else(|| format!("in use: {name}"))
    }
}

/// A text of a request; empty where it has none.
pub fn text(request: &Value, name: &str) -> String {
    request[name].as_str().unwrap_or_default().to_string()
}

struct Driver {
    producers: Producers,
    consumers: Consumers,
}

impl Driver {
    async fn run(&self, request: &Value) -> Outcome {
        let op = text(request, "op");
        match op.split_once('.') {
            Some(("producer", op)) => self.producers.run(op, request).await,
            Some(("simple", op)) => self.consumers.run(op, request).await,
            _ => Err(unknown(&op)),
        }
    }

    async fn answer(&self, line: &str) -> Value {
        let request: Value = serde_json::from_str(line).expect("a request");
        match self.run(&request).await {
            Ok(result) => json!({"id": request["id"], "result": result}),
            Err(failure) => {
                let error = json!({"type": "Error", "message": format!("{failure:?}")});
                json!({"id": request["id"], "error": error})
            }
        }
    }
}

/// The error of an operation that there is none.
pub fn unknown(op: &str) -> Box<dyn std::error::Error + Send + Sync> {
    format!("no such operation: {op}").into()
}

#[tokio::main]
async fn main() {
    let driver = Arc::new(Driver { producers: Producers::new(), consumers: Consumers::new() });
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            sender.send(line.expect("text")).expect("a reader");
        }
    });
    while let Some(line) = lines.recv().await {
        let driver = driver.clone();
        tokio::spawn(async move {
            let answer = driver.answer(&line).await;
            let mut output = std::io::stdout().lock();
            writeln!(output, "{answer}").expect("somebody listens");
            output.flush().expect("somebody listens");
        });
    }
}
