// Drives kafkajs as requests on standard input say: a JSON object a line, answered by another. kafkajs has
// gzip built in and takes the other codecs from packages; its consumers are always members of a group.
'use strict';

const readline = require('node:readline');
const zstd = require('@bokuweb/zstd-wasm');
const kafkajs = require('kafkajs');
const snappy = require('kafkajs-snappy');
const lz4 = require('lz4-napi');

const CODECS = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' };
const members = new Map();
let groups = 0;

kafkajs.CompressionCodecs[kafkajs.CompressionTypes.Snappy] = snappy;
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: buffer => lz4.decompressFrame(buffer),
});
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
});

const sleep = millis => new Promise(resolve => setTimeout(resolve, millis));
const textOf = data => (data === null || data === undefined ? null : data.toString());

function clientOf(request) {
  return new kafkajs.Kafka({
    brokers: [request.bootstrap],
    clientId: 'compat',
    logLevel: kafkajs.logLevel.NOTHING,
    requestTimeout: 60000,
  });
}

// Header values by name; a name that comes twice has a list.
function headersOf(pairs) {
  const headers = {};
  for (const [name, value] of pairs || []) {
    headers[name] = name in headers ? [headers[name], value].flat() : value;
  }
  return headers;
}

async function produce(request) {
  const partitions = new Map();
  const partitioner = () => {
    const choose = kafkajs.Partitioners.DefaultPartitioner();
    return details => {
      const partition = choose(details);
      partitions.set(details.message, partition);
      return partition;
    };
  };
  const options = { createPartitioner: partitioner, idempotent: request.idempotent, maxInFlightRequests: 1 };
  const producer = clientOf(request).producer(options);
  const messages = request.records.map(one => ({
    key: one.key ?? null,
    value: one.value ?? null,
    partition: one.partition,
    timestamp: one.timestamp === undefined ? undefined : String(one.timestamp),
    headers: headersOf(one.headers),
  }));
  await producer.connect();
  try {
    const acks = request.acks === 'all' ? -1 : Number(request.acks);
    const compression = kafkajs.CompressionTypes[CODECS[request.compression]];
    const written = await producer.send({ topic: request.topic, acks, compression, messages });
    const next = new Map(written.filter(Boolean).map(one => [one.partition, Number(one.baseOffset)]));
    return messages.map(message => {
      const partition = partitions.get(message);
      const offset = acks === 0 ? -1 : next.get(partition);
      next.set(partition, offset + 1);
      return { partition, offset };
    });
  } finally {
    await producer.disconnect();
  }
}

function shapeOf(partition, message) {
  const headers = [];
  for (const [name, values] of Object.entries(message.headers || {})) {
    for (const value of Array.isArray(values) ? values : [values]) {
      headers.push([name, textOf(value)]);
    }
  }
  return {
    partition,
    offset: Number(message.offset),
    key: textOf(message.key),
    value: textOf(message.value),
    headers,
    timestamp: Number(message.timestamp),
  };
}

async function consume(request) {
  const starts = new Map(request.starts);
  const came = [];
  groups += 1;
  const consumer = clientOf(request).consumer({
    groupId: `consume-${process.pid}-${groups}`,
    maxWaitTimeInMs: 500,
    maxBytesPerPartition: 8 << 20,
  });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic: request.topic, fromBeginning: true });
    const running = consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        if (starts.has(partition)) {
          came.push(shapeOf(partition, message));
        }
      },
    });
    // A seek right behind run() counts for the first fetch.
    for (const [partition, offset] of starts) {
      consumer.seek({ topic: request.topic, partition, offset: String(offset) });
    }
    await running;
    const end = Date.now() + request.millis;
    while (came.length < request.count && Date.now() < end) {
      await sleep(20);
    }
  } finally {
    await consumer.disconnect();
  }
  return came;
}

async function offset(request) {
  const admin = clientOf(request).admin();
  await admin.connect();
  try {
    const offsets = await admin.fetchTopicOffsetsByTimestamp(request.topic, request.timestamp);
    return Number(offsets.find(one => one.partition === request.partition).offset);
  } finally {
    await admin.disconnect();
  }
}

class Member {
  constructor(request) {
    this.topic = request.topic;
    this.assignment = [];
    this.revoked = 0;
    this.records = [];
    this.next = new Map();
    this.failure = null;
    this.consumer = clientOf(request).consumer({
      groupId: request.group,
      sessionTimeout: request.session,
      heartbeatInterval: 500,
      maxWaitTimeInMs: 250,
      partitionAssigners: [kafkajs.PartitionAssigners.roundRobin], // the only one that it has
    });
    this.consumer.on(this.consumer.events.GROUP_JOIN, event => {
      this.assignment = event.payload.memberAssignment[this.topic] || [];
    });
    this.consumer.on(this.consumer.events.REBALANCING, () => {
      this.revoked += this.assignment.length;
      this.assignment = [];
      this.next.clear();
    });
    this.consumer.on(this.consumer.events.CRASH, event => {
      this.failure = event.payload.restart ? null : event.payload.error;
    });
    this.started = this.start(request.from).catch(failure => { this.failure = failure; });
  }

  async start(from) {
    await this.consumer.connect();
    await this.consumer.subscribe({ topic: this.topic, fromBeginning: from === 'earliest' });
    await this.consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        this.records.push(shapeOf(partition, message));
        this.next.set(partition, String(Number(message.offset) + 1));
      },
    });
  }

  taken() {
    if (this.failure !== null) {
      throw this.failure;
    }
    const { records } = this;
    this.records = [];
    return { assignment: this.assignment, revoked: this.revoked, records };
  }

  async commit() {
    const { topic } = this;
    const offsets = [...this.next].map(([partition, one]) => ({ topic, partition, offset: one }));
    await this.consumer.commitOffsets(offsets);
  }

  async leave() {
    await this.started;
    await this.consumer.disconnect();
  }
}

const operations = {
  produce,
  consume,
  offset,
  join: async request => { members.set(request.name, new Member(request)); return null; },
  taken: async request => members.get(request.name).taken(),
  commit: async request => { await members.get(request.name).commit(); return null; },
  leave: async request => {
    await members.get(request.name).leave();
    members.delete(request.name);
    return null;
  },
};

function codeOf(failure) {
  for (let one = failure; one; one = one.cause) {
    if (typeof one.code === 'number') {
      return one.code;
    }
  }
  return null;
}

async function answer(line) {
  const request = JSON.parse(line);
  const shape = { id: request.id };
  try {
    shape.result = await operations[request.op](request);
  } catch (failure) {
    shape.error = { type: failure.name, code: codeOf(failure), message: failure.message };
  }
  process.stdout.write(`${JSON.stringify(shape)}\n`);
}

async function main() {
  await zstd.init();
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on('line', answer);
  lines.on('close', () => process.exit(0));
}

main();
