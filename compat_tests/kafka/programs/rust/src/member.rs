//! A member of a group, polled by a thread of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::ClientContext;
use serde_json::{json, Value};

use crate::records::{settings, shape};
use crate::{number, text, Outcome};

const STEP: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(50);

/// Counts partitions that were revoked.
#[derive(Default)]
struct Revocations(AtomicUsize);

impl ClientContext for Revocations {}

impl ConsumerContext for Revocations {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(partitions) = rebalance {
            self.0.fetch_add(partitions.count(), Ordering::Relaxed);
        }
    }
}

/// What a member has, and what came since the last time.
#[derive(Default)]
struct Inbox {
    assignment: Vec<i32>,
    revoked: usize,
    records: Vec<Value>,
    failure: Option<KafkaError>,
}

enum Step {
    Commit,
    Leave,
}

/// A step, and where its outcome is sent.
type Asked = (Step, Sender<KafkaResult<()>>);

pub struct Member {
    inbox: Arc<Mutex<Inbox>>,
    steps: Mutex<Sender<Asked>>,
}

impl Member {
    /// Returns a member that joins the group of the request.
    pub fn new(request: &Value) -> KafkaResult<Member> {
        let mut settings = settings(request);
        settings
            .set("group.id", text(request, "group"))
            .set("auto.offset.reset", text(request, "from"));
        let assignor = text(request, "assignor");
        if text(request, "protocol") == "consumer" {
            settings.set("group.protocol", "consumer").set("group.remote.assignor", assignor);
        } else {
            let strategy = if assignor == "cooperative" { "cooperative-sticky" } else { assignor };
            settings
                .set("session.timeout.ms", number(request, "session").to_string())
                .set("heartbeat.interval.ms", "500")
                .set("partition.assignment.strategy", strategy);
        }
        if let Some(instance) = request["instance"].as_str() {
            settings.set("group.instance.id", instance);
        }
        let consumer: BaseConsumer<Revocations> = settings.create_with_context(Revocations::default())?;
        consumer.subscribe(&[text(request, "topic")])?;
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let (sender, steps) = channel();
        let shared = inbox.clone();
        std::thread::spawn(move || {
            if let Err(failure) = serve(consumer, &shared, &steps) {
                shared.lock().unwrap().failure = Some(failure);
            }
        });
        Ok(Member { inbox, steps: Mutex::new(sender) })
    }

    /// Returns partitions, the number of partitions revoked, and the records since the last call.
    pub fn taken(&self) -> Outcome {
        let mut inbox = self.inbox.lock().unwrap();
        if let Some(failure) = &inbox.failure {
            return Err(failure.clone().into());
        }
        let records = std::mem::take(&mut inbox.records);
        Ok(json!({"assignment": inbox.assignment, "revoked": inbox.revoked, "records": records}))
    }

    /// Commits what was received.
    pub fn commit(&self) -> Outcome {
        self.in_thread(Step::Commit)
    }

    /// Leaves the group and ends the thread.
    pub fn leave(&self) -> Outcome {
        self.in_thread(Step::Leave)
    }

    fn in_thread(&self, step: Step) -> Outcome {
        let (sender, done) = channel();
        self.steps.lock().unwrap().send((step, sender))?;
        done.recv_timeout(PATIENCE)??;
        Ok(Value::Null)
    }
}

/// Polls, and runs the steps between two polls, until the member leaves.
fn serve(
    consumer: BaseConsumer<Revocations>,
    inbox: &Mutex<Inbox>,
    steps: &Receiver<Asked>,
) -> KafkaResult<()> {
    loop {
        let message = consumer.poll(STEP);
        // A consumer cannot end while a list of its partitions exists.
        let assignment = consumer.assignment()?.elements().iter().map(|one| one.partition()).collect();
        {
            let mut inbox = inbox.lock().unwrap();
            match message {
                Some(Ok(message)) => inbox.records.push(shape(&message)),
                Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::UnknownTopicOrPartition))) => {}
                Some(Err(failure)) => return Err(failure),
                None => {}
            }
            inbox.assignment = assignment;
            inbox.revoked = consumer.context().0.load(Ordering::Relaxed);
        }
        // A step's sender may have given up, which concerns nobody here.
        match steps.try_recv() {
            Ok((Step::Commit, done)) => {
                let _ = done.send(match consumer.commit_consumer_state(CommitMode::Sync) {
                    Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => Ok(()),
                    outcome => outcome,
                });
            }
            Ok((Step::Leave, done)) => {
                drop(consumer);
                let _ = done.send(Ok(()));
                return Ok(());
            }
            Err(_) => {}
        }
    }
}
