// Topics: the list, and one of them.
import { useState } from "preact/hooks";
import { ask, go, link, part, query, useAsked, useStream } from "../api.js";
import { Confirm, Dialog, Form } from "../forms.js";
import { t } from "../i18n.js";
import { Chart, Facts, List, Loading, Table, Title, bytes, can, html, number, perm, say, time } from "../widgets.js";
import { PolicyForm } from "./access.js";
import { BrokerPicker, ClusterList, Unanswered, useBrokers } from "./cluster-lists.js";
import { stateOf } from "./group-states.js";

const KINDS = ["users", "all", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "LITE", "MIXED", "UNSPECIFIED", "RETRY", "DLQ", "SYSTEM"];
const TYPES = ["NORMAL", "FIFO", "DELAY", "TRANSACTION", "LITE", "MIXED", "UNSPECIFIED"];
const TAIL_SHOWN = 200;

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
  const brokers = useBrokers(address);
  const columns = [
    { title: t("Topic"), sort: "name", value: (row) => html`<a href=${link(["topics", row.topic])}>${row.topic}</a>` },
    { title: t("Type"), value: (row) => html`<span class="tag">${row.kind}</span>${row.isKafka && html` <span class="tag">Kafka</span>`}` },
    { title: t("Permission"), value: (row) => perm(row.perm) },
    { title: t("Queues"), isNumber: true, value: (row) => (row.readQueues === row.writeQueues ? row.readQueues : `${row.readQueues} / ${row.writeQueues}`) },
    { title: t("Messages"), isNumber: true, sort: "messages", value: (row) => number(row.messages) },
    { title: t("In per second"), isNumber: true, sort: "rate", value: (row) => row.rate },
    { title: t("Groups"), isNumber: true, value: (row) => row.groups },
  ];
  const filters = (params, change) => html`<${BrokerPicker} brokers=${brokers} change=${change} /><label>${t("Kind")}<select value=${params.kind ?? "users"} onChange=${(event) => change({ kind: event.target.value })}>${KINDS.map((kind) => html`<option value=${kind}>${kind === "users" ? t("user topics") : kind === "all" ? t("all topics") : kind}</option>`)}</select></label>`;
  const common = {
    address,
    more: { kind: address.params.kind },
    caption: t("Topics"),
    filters,
    empty: t("No topic fits. Clear the search, choose all topics, or create one."),
    actions: can(session, "operator") && html`<button type="button" class="main" onClick=${() => setCreating(true)}>${t("Create a topic")}</button>`,
  };
  return html`<${Title}>${t("Topics")}<//>
    ${brokers.own
      ? html`<${List} key="own" ...${common} path="/topics" columns=${columns} keyOf=${(row) => row.topic} />`
      : html`<${ClusterList} key="cluster" ...${common} what="topics" brokers=${brokers} nameOf=${(row) => row.topic} />`}
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

// Messages of a topic over the last hours; samples are taken every half a minute.
function History({ topic }) {
  const [minutes, setMinutes] = useState(60);
  const asked = useAsked(`/topics/${part(topic)}/history?minutes=${minutes}`, 30);
  return html`<h2>${t("Over time")}</h2>
    <div class="bar" role="group" aria-label=${t("Span")}>${[[60, "1 h"], [240, "4 h"]].map(([span, name]) => html`<button type="button" aria-pressed=${span === minutes} class=${span === minutes ? "main" : ""} onClick=${() => setMinutes(span)}>${name}</button>`)}</div>
    <div class="pair">
      <${Chart} title=${t("Messages per second")} data=${asked.value} series=${[["in", t("in")]]} />
      <${Chart} title=${t("Bytes per second")} data=${asked.value} series=${[["bytes", t("in")]]} form=${bytes} />
      <${Chart} title=${t("Messages kept")} data=${asked.value} series=${[["messages", t("Messages")]]} />
    </div>`;
}

// Queues of the topic at every broker that has it.
function Queues({ topic }) {
  const asked = useAsked(`/cluster/topics/${part(topic)}`, 10);
  const told = asked.value;
  if (!told) return html`<h2>${t("Queues")}</h2><${Loading} asked=${asked} />`;
  const brokers = new Set(told.rows.map((row) => row.broker));
  return html`<h2>${t("Queues")}</h2>
    <${Unanswered} rows=${told.unanswered} />
    <${Table} caption=${`${t("Queues")}: ${told.rows.length}, ${t("Brokers")}: ${brokers.size}`} rows=${told.rows} keyOf=${(row) => `${row.broker} ${row.queueId}`} columns=${[
      { title: t("Broker"), value: (row) => html`<span class="whole">${row.broker}</span>` },
      { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
      { title: t("First offset"), isNumber: true, value: (row) => number(row.minOffset) },
      { title: t("Next offset"), isNumber: true, value: (row) => number(row.maxOffset) },
      { title: t("Messages"), isNumber: true, value: (row) => number(row.maxOffset - row.minOffset) },
      { title: t("Last message"), value: (row) => time(row.lastTimestamp) },
    ]} />`;
}

// Users with policy entries that match the topic.
function TopicAccess({ topic, session }) {
  const asked = useAsked(`/topics/${part(topic)}/access`);
  const [isGranting, setGranting] = useState(false);
  const told = asked.value;
  if (!told) return html`<h2>${t("Access")}</h2><${Loading} asked=${asked} />`;
  if (!told.authorizes) return html`<h2>${t("Access")}</h2><p class="faint">${t("Policies are not checked: all clients may use this topic. authorizationEnabled enables the checks.")}</p>`;
  return html`<h2>${t("Access")}</h2>
    ${can(session, "admin") && html`<div class="bar"><button type="button" onClick=${() => setGranting(true)}>${t("Grant access")}</button></div>`}
    <${Table} caption=${t("Users with policies for this topic; the first one that matches decides")} rows=${told.rows} keyOf=${(row) => row.user} columns=${[
      { title: t("User"), value: (row) => html`${row.user} ${row.isDisabled && html`<span class="tag">${t("disabled")}</span>`}` },
      { title: t("Policies"), value: (row) => (row.isSuper ? t("super user: all permissions") : html`<ul>${row.policies.map((one) => html`<li>${one.decision} ${one.actions.join(", ")} ${one.resource} ${one.sources.join(", ")} <span class="tag">${one.type}</span></li>`)}</ul>`) },
    ]} />
    ${isGranting && html`<${PolicyForm} resource=${`Topic:${topic}`} close=${() => setGranting(false)} done=${asked.reload} />`}`;
}

export function Topic({ address, session }) {
  const name = address.parts[1];
  const asked = useAsked(`/topics/${part(name)}`, 10);
  const [shown, show] = useState("");
  const close = () => show("");
  const told = asked.value;
  if (!told && asked.error?.status === 404) return html`<${Title}>${name}<//><p class="warn">⚠ ${t("This broker does not have the topic")}</p><${Queues} topic=${name} />`;
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
    <h2>${t("Groups")}</h2>
    <${Table} caption=${`${t("Groups")}: ${told.consumers.length}`} rows=${told.consumers} keyOf=${(row) => row.group} columns=${[
      { title: t("Group"), value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a>` },
      { title: t("Members"), isNumber: true, value: (row) => row.members },
      { title: t("Lag"), isNumber: true, value: (row) => number(row.behind) },
      { title: t("Fetched per second"), isNumber: true, value: (row) => row.rate },
      { title: t("State"), value: (row) => stateOf(row) },
    ]} />
    <${History} topic=${name} />
    <${Queues} topic=${name} />
    ${told.routes && html`<h2>${t("Routes")}</h2>
    <${Table} caption=${t("From the name server of this process")} rows=${told.routes} keyOf=${(row) => row.broker} columns=${[
      { title: t("Broker"), value: (row) => row.broker },
      { title: t("Addresses"), value: (row) => Object.entries(row.addresses).map(([id, address]) => `${id}: ${address}`).join(", ") },
      { title: t("Queues"), isNumber: true, value: (row) => `${row.readQueues} / ${row.writeQueues}` },
      { title: t("Permission"), value: (row) => perm(row.perm) },
    ]} />`}
    ${can({ ...session, isReadOnly: false }, "admin") && html`<${TopicAccess} topic=${name} session=${session} />`}
    ${can(session, "reader") && html`<${Tail} topic=${name} />`}
    ${shown === "send" && html`<${SendForm} topic=${name} close=${close} done=${asked.reload} />`}
    ${shown === "change" && html`<${TopicForm} topic=${told} close=${close} done=${asked.reload} />`}
    ${shown === "delete" && html`<${Confirm} title=${t("Delete the topic")} name=${name} text=${t("Deletes all its messages and the offsets of its groups on this broker.")} button=${t("Delete")} close=${close}
      act=${async () => { await ask("DELETE", `/topics/${part(name)}`); say(t("Deleted")); go(["topics"]); }} />`}`;
}
