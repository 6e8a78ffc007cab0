// Drives the official Node client from outside: one request a line on standard input, one answer a line on
// standard output, both JSON. Requests, operations and shapes are those of the program that drives the Java
// client, java/driver.
'use strict';

const { createHash } = require('node:crypto');
const readline = require('node:readline');
const rocketmq = require('rocketmq-client-nodejs');
const { FilterType, TransactionResolution } = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');

const SHOWN_BYTES = 1024;
const clients = new Map();
const inboxes = new Map();
const receipts = new Map();
let number = 0;

const sleep = millis => new Promise(resolve => setTimeout(resolve, millis));

// What a listener was given, in order; whoever asks waits for it.
class Inbox {
  constructor(request) {
    this.all = [];
    this.turns = new Map();
    this.refused = new Set(request.refuse || []);
    this.failFirst = request.failFirst || 0;
  }

  accept(message) {
    const shape = shapeOf(message);
    const turn = (this.turns.get(shape.messageId) || 0) + 1;
    this.turns.set(shape.messageId, turn);
    this.all.push({ ...shape, delivery: turn });
    return turn > this.failFirst && !this.refused.has(shape.body);
  }

  consume(message) {
    return this.accept(message) ? rocketmq.ConsumeResult.SUCCESS : rocketmq.ConsumeResult.FAILURE;
  }

  async collect(request) {
    const end = Date.now() + request.millis;
    while (this.all.length < request.count && Date.now() < end) {
      await sleep(20);
    }
    return [...this.all];
  }
}

function shapeOf(message) {
  return {
    messageId: message.messageId,
    topic: message.topic,
    size: message.body.length,
    md5: createHash('md5').update(message.body).digest('hex'),
    body: message.body.length > SHOWN_BYTES ? '' : message.body.toString(),
    properties: Object.fromEntries(message.properties),
    keys: message.keys,
    tag: message.tag ?? null,
    group: message.messageGroup ?? null,
    lite: message.liteTopic ?? null,
    priority: message.priority ?? null,
    deliveryTimestamp: message.deliveryTimestamp ? message.deliveryTimestamp.getTime() : null,
    bornHost: message.bornHost,
    bornTimestamp: message.bornTimestamp ? message.bornTimestamp.getTime() : 0,
    attempt: message.deliveryAttempt ?? null,
    receivedAt: Date.now(),
  };
}

function messageOf(shape) {
  const body = shape.size === undefined
    ? Buffer.from(shape.body)
    : Buffer.from(Uint8Array.from({ length: shape.size }, (_, i) => i % 251));
  const message = { topic: shape.topic, body };
  if (shape.tag) message.tag = shape.tag;
  if (shape.keys) message.keys = shape.keys;
  if (shape.group) message.messageGroup = shape.group;
  if (shape.lite) message.liteTopic = shape.lite;
  if (shape.priority !== undefined) message.priority = shape.priority;
  if (shape.delay) message.delay = shape.delay;
  if (shape.properties) message.properties = new Map(Object.entries(shape.properties));
  return message;
}

function receiptShape(receipt) {
  const shape = { messageId: receipt.messageId, transactionId: receipt.transactionId };
  return receipt.recallHandle ? { ...shape, recallHandle: receipt.recallHandle } : shape;
}

const logger = { info() {}, debug() {}, warn: console.error, error: console.error };

function options(request) {
  return {
    endpoints: request.endpoints,
    namespace: '',
    sslEnabled: Boolean(request.tls),
    requestTimeout: 30000, // longer than a busy machine needs for its slowest answer
    logger,
  };
}

function subscriptions(request) {
  return new Map(Object.entries(request.subscriptions).map(([ topic, wanted ]) => [
    topic, wanted.sql ? new rocketmq.FilterExpression(wanted.sql, FilterType.SQL) : wanted,
  ]));
}

function startProducer(request) {
  const questions = new Inbox(request);
  const decided = new Map();
  const checker = {
    async check(message) {
      questions.accept(message);
      const state = decided.get(message.body.toString());
      return TransactionResolution[state] ?? TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED;
    },
  };
  const producer = new rocketmq.Producer({ ...options(request), topics: request.topics, topic: request.topics, checker });
  producer.driven = { questions, decided, acknowledged: [], isStorming: false };
  return producer;
}

function inboxOf(request) {
  const inbox = new Inbox(request);
  inboxes.set(request.name, inbox);
  return inbox;
}

const started = make => async request => {
  const client = make(request);
  await client.startup();
  clients.set(request.name, client);
};

const stop = async request => {
  await clients.get(request.name).shutdown();
  clients.delete(request.name);
};

const of = request => clients.get(request.name);

const operations = {
  'producer.start': started(startProducer),
  'producer.send': async request => {
    const sent = [];
    for (const one of request.messages) {
      sent.push(receiptShape(await of(request).send(messageOf(one))));
    }
    return sent;
  },
  'producer.begin': async request => {
    const transaction = of(request).beginTransaction();
    const receipt = await of(request).send(messageOf(request.message), transaction);
    if (request.resolution === 'COMMIT') await transaction.commit();
    if (request.resolution === 'ROLLBACK') await transaction.rollback();
    return receiptShape(receipt);
  },
  'producer.decide': async request => {
    request.bodies.forEach(body => of(request).driven.decided.set(body, request.state));
  },
  'producer.questions': request => of(request).driven.questions.collect(request),
  'producer.recall': async request => (await of(request).recallMessage(request.topic, request.handle)).messageId,
  // Send from several loops until told to stop; failures are passed over.
  'producer.storm': async request => {
    const { driven } = of(request);
    driven.isStorming = true;
    await Promise.all(Array.from({ length: request.threads }, async () => {
      while (driven.isStorming) {
        const body = `storm-${++number}`;
        try {
          await of(request).send(messageOf({ topic: request.topic, body }));
          driven.acknowledged.push(body);
        } catch {
          await sleep(100);
        }
      }
    }));
    return driven.acknowledged;
  },
  'producer.stormCount': async request => of(request).driven.acknowledged.length,
  'producer.calm': async request => {
    of(request).driven.isStorming = false;
  },
  'simple.start': started(request => new rocketmq.SimpleConsumer({
    ...options(request),
    consumerGroup: request.group,
    subscriptions: subscriptions(request),
    awaitDuration: request.await,
  })),
  'simple.receive': async request => {
    const found = await of(request).receive(request.max, request.invisible);
    return found.map(message => {
      receipts.set(++number, message);
      return { ...shapeOf(message), receipt: number };
    });
  },
  'simple.ack': async request => {
    for (const receipt of request.receipts) await of(request).ack(receipts.get(receipt));
  },
  'simple.change': request => of(request).changeInvisibleDuration(receipts.get(request.receipt), request.invisible),
  'push.start': started(request => new rocketmq.PushConsumer({
    ...options(request),
    consumerGroup: request.group,
    subscriptions: subscriptions(request),
    messageListener: inboxOf(request),
  })),
  'push.collect': request => inboxes.get(request.name).collect(request),
  'lite.start': async request => {
    const builder = new rocketmq.LitePushConsumerBuilder()
      .setClientConfiguration(options(request))
      .setConsumerGroup(request.group)
      .bindTopic(request.topic)
      .setMessageListener(inboxOf(request));
    clients.set(request.name, await builder.build());
  },
  'lite.subscribe': request => of(request).subscribeLite(request.lite),
  'lite.unsubscribe': request => of(request).unsubscribeLite(request.lite),
  'lite.collect': request => inboxes.get(request.name).collect(request),
  'lite.stop': async request => {
    await of(request).close();
    clients.delete(request.name);
  },
  'producer.stop': stop,
  'simple.stop': stop,
  'push.stop': stop,
};

async function answer(request) {
  try {
    return { id: request.id, result: await operations[request.op](request) };
  } catch (failure) {
    const error = { type: failure.name, code: failure.code ?? null, message: String(failure.message) };
    return { id: request.id, error };
  }
}

process.on('unhandledRejection', failure => console.error('unhandled', failure));
const lines = readline.createInterface({ input: process.stdin });
lines.on('line', async line => process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`));
lines.on('close', () => process.exit(0));
