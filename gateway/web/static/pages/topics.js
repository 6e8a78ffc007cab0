// Topics: the list, and one of them.
import { useState } from "preact/hooks";
import { ask, go, link, part, query, useAsked, useStream } from "../api.js";
import { Confirm, Dialog, Form } from "../forms.js";
import { t } from "../i18n.js";
import { Facts, List, Loading, Table, Title, can, html, number, say, time } from "../widgets.js";

const KINDS = ["users", "all", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "LITE", "MIXED", "UNSPECIFIED", "RETRY", "DLQ", "SYSTEM"];
const TYPES = ["NORMAL", "FIFO", "DELAY", "TRANSACTION", "LITE", "MIXED", "UNSPECIFIED"];
const TAIL_SHOWN = 200;

const perm = (bits) => (bits & 4 ? "R" : "-") + (bits & 2 ? "W" : "-");

function TopicForm({ topic, close, done }) {
  const fields = [
    ...(topic ? [] : [{ name: "topic", label: t("Name"), isRequired: true }]),
    { name: "readQueues", label: t("Queues to read"), type: "number", min: 1, value: topic?.readQueues ?? 8 },
    { name: "writeQueues", label: t("Queues to write"), type: "number", min: 1, value: topic?.writeQueues ?? 8 },
    { name: "perm", label: t("Permission: 6 read and write, 4 read, 2 write"), choices: ["6", "4", "2"], value: String(topic?.perm ?? 6) },
    ...(topic ? [] : [{ name: "type", label: t("Type of messages"), choices: TYPES, value: "NORMAL" }]),
  ];
  const send = async ({ type, topic: name, ...values }) => {
    const body = { ...values, perm: Number(values.perm) };
    if (topic) await ask("PUT", `/topics/${part(topic.topic)}`, body);
    else await ask("POST", "/topics", { ...body, topic: name, attributes: type === "NORMAL" ? null : { "message.type": type } });
    say(t("Saved"));
    done(name);
    close();
  };
  return html`<${Dialog} title=${topic ? t("Change the topic") : t("Create a topic")} close=${close}><${Form} fields=${fields} send=${send} button=${t("Save")} close=${close} /><//>`;
}

export function Topics({ address, session }) {
  const [isCreating, setCreating] = useState(false);
  const columns = [
    { title: t("Topic"), sort: "name", value: (row) => html`<a href=${link(["topics", row.topic])}>${row.topic}</a>` },
    { title: t("Type"), value: (row) => html`<span class="tag">${row.kind}</span>${row.isKafka && html` <span class="tag">Kafka</span>`}` },
    { title: t("Permission"), value: (row) => perm(row.perm) },
    { title: t("Queues"), isNumber: true, value: (row) => (row.readQueues === row.writeQueues ? row.readQueues : `${row.readQueues} / ${row.writeQueues}`) },
    { title: t("Messages"), isNumber: true, sort: "messages", value: (row) => number(row.messages) },
    { title: t("In per second"), isNumber: true, sort: "rate", value: (row) => row.rate },
    { title: t("Groups"), isNumber: true, value: (row) => row.groups },
  ];
  const filters = (params, change) => html`<label>${t("Kind")}<select value=${params.kind ?? "users"} onChange=${(event) => change({ kind: event.target.value })}>${KINDS.map((kind) => html`<option value=${kind}>${kind === "users" ? t("user topics") : kind === "all" ? t("all topics") : kind}</option>`)}</select></label>`;
  return html`<${Title}>${t("Topics")}<//>
    <${List} address=${address} path="/topics" more=${{ kind: address.params.kind }} caption=${t("Topics")} columns=${columns} keyOf=${(row) => row.topic} filters=${filters} empty=${t("No topic fits. Clear the search, choose all topics, or create one.")}
      actions=${can(session, "operator") && html`<button type="button" class="main" onClick=${() => setCreating(true)}>${t("Create a topic")}</button>`} />
    ${isCreating && html`<${TopicForm} close=${() => setCreating(false)} done=${(name) => go(["topics", name])} />`}`;
}

function SendForm({ topic, close, done }) {
  const fields = [
    { name: "body", label: t("Body"), type: "textarea", isRequired: true },
    { name: "tags", label: t("Tag") },
    { name: "keys", label: t("Keys, separated by spaces") },
    { name: "queueId", label: t("Queue; -1 for any"), type: "number", min: -1, value: -1 },
    { name: "delayLevel", label: t("Level of delay; 0 for none"), type: "number", min: 0, value: 0 },
  ];
  const send = async (values) => {
    const told = await ask("POST", `/topics/${part(topic)}/messages`, values);
    say(`${t("Sent")}: ${told.id}`);
    done();
    close();
  };
  return html`<${Dialog} title=${t("Send a message")} close=${close}><${Form} fields=${fields} send=${send} button=${t("Send")} close=${close} /><//>`;
}

function Tail({ topic }) {
  const [isOn, setOn] = useState(false);
  const [rows, setRows] = useState([]);
  const [skipped, setSkipped] = useState(0);
  useStream(isOn && `/topics/${part(topic)}/tail`, {
    message: (row) => setRows((before) => [row, ...before].slice(0, TAIL_SHOWN)),
    skipped: (told) => setSkipped((before) => before + told.messages),
  });
  const columns = [
    { title: t("Stored"), value: (row) => time(row.storeTimestamp) },
    { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
    { title: t("Offset"), isNumber: true, value: (row) => row.queueOffset },
    { title: t("Tag"), value: (row) => row.tags },
    { title: t("Body"), value: (row) => html`<a href=${link(["messages", row.id])}>${row.preview || "–"}</a>` },
  ];
  return html`<h2>${t("Live")}</h2>
    <div class="bar">
      <button type="button" aria-pressed=${isOn} onClick=${() => setOn(!isOn)}>${isOn ? t("Stop") : t("Show messages as they arrive")}</button>
      <button type="button" onClick=${() => { setRows([]); setSkipped(0); }}>${t("Clear")}</button>
      ${skipped > 0 && html`<span class="warn">${t("Skipped")}: ${number(skipped)}</span>`}
    </div>
    ${(isOn || rows.length > 0) && html`<${Table} caption=${t("Newest first")} columns=${columns} rows=${rows} keyOf=${(row) => row.id} />`}`;
}

export function Topic({ address, session }) {
  const name = address.parts[1];
  const asked = useAsked(`/topics/${part(name)}`, 10);
  const [shown, show] = useState("");
  const close = () => show("");
  const told = asked.value;
  if (!told) return html`<${Title}>${name}<//><${Loading} asked=${asked} />`;
  const mayChange = can(session, "operator");
  return html`<${Title}>${name}<//>
    <div class="bar">
      ${can(session, "reader") && html`<a class="button" href=${link(["messages"], { topic: name })}>${t("Find messages")}</a>`}
      ${mayChange && html`<button type="button" onClick=${() => show("send")}>${t("Send a message")}</button><button type="button" onClick=${() => show("change")}>${t("Change")}</button>`}
      ${can(session, "admin") && !told.isSystem && html`<button type="button" class="danger" onClick=${() => show("delete")}>${t("Delete")}</button>`}
    </div>
    <${Facts} facts=${[
      [t("Type"), told.isKafka ? `${told.kind}, ${t("made by a Kafka client")}` : told.kind],
      [t("Permission"), perm(told.perm)],
      [t("Messages"), number(told.messages)],
      [t("In per second"), told.rate],
      [t("Attributes"), Object.entries(told.attributes).map(([key, value]) => `${key}=${value}`).join(", ") || "–"],
    ]} />
    <h2>${t("Queues")}</h2>
    <${Table} caption=${`${t("Queues")}: ${told.queues.length}`} rows=${told.queues} keyOf=${(row) => row.queueId} columns=${[
      { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
      { title: t("First offset"), isNumber: true, value: (row) => number(row.minOffset) },
      { title: t("Next offset"), isNumber: true, value: (row) => number(row.maxOffset) },
      { title: t("Messages"), isNumber: true, value: (row) => number(row.maxOffset - row.minOffset) },
      { title: t("Last message"), value: (row) => time(row.lastTimestamp) },
    ]} />
    <h2>${t("Groups")}</h2>
    <${Table} caption=${`${t("Groups")}: ${told.consumers.length}`} rows=${told.consumers} keyOf=${(row) => row.group} columns=${[
      { title: t("Group"), value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a>` },
      { title: t("Connected"), value: (row) => (row.online ? t("yes") : t("no")) },
      { title: t("Lag"), isNumber: true, value: (row) => number(row.behind) },
      { title: t("Fetched per second"), isNumber: true, value: (row) => row.rate },
    ]} />
    ${told.routes && html`<h2>${t("Routes")}</h2>
    <${Table} caption=${t("From the name server of this process")} rows=${told.routes} keyOf=${(row) => row.broker} columns=${[
      { title: t("Broker"), value: (row) => row.broker },
      { title: t("Addresses"), value: (row) => Object.entries(row.addresses).map(([id, address]) => `${id}: ${address}`).join(", ") },
      { title: t("Queues"), isNumber: true, value: (row) => `${row.readQueues} / ${row.writeQueues}` },
      { title: t("Permission"), value: (row) => perm(row.perm) },
    ]} />`}
    ${can(session, "reader") && html`<${Tail} topic=${name} />`}
    ${shown === "send" && html`<${SendForm} topic=${name} close=${close} done=${asked.reload} />`}
    ${shown === "change" && html`<${TopicForm} topic=${told} close=${close} done=${asked.reload} />`}
    ${shown === "delete" && html`<${Confirm} title=${t("Delete the topic")} name=${name} text=${t("Deletes all its messages and the offsets of its groups on this broker.")} button=${t("Delete")} close=${close}
      act=${async () => { await ask("DELETE", `/topics/${part(name)}`); say(t("Deleted")); go(["topics"]); }} />`}`;
}
