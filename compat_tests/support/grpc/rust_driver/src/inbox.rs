//! What a client was given, in order; whoever asks waits for it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{json, Value};

const LOOK: Duration = Duration::from_millis(20);

#[derive(Default)]
pub struct Inbox(Mutex<Vec<Value>>);

impl Inbox {
    pub fn add(&self, shape: Value) {
        self.0.lock().unwrap().push(shape);
    }

    /// Wait for so many, or so long; all so far.
    pub async fn collect(&self, request: &Value) -> Value {
        let count = request["count"].as_u64().unwrap_or(0) as usize;
        let end = Instant::now() + Duration::from_millis(request["millis"].as_u64().unwrap_or(0));
        while self.0.lock().unwrap().len() < count && Instant::now() < end {
            tokio::time::sleep(LOOK).await;
        }
        json!(*self.0.lock().unwrap())
    }
}
