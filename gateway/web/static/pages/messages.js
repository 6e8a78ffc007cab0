// Messages: looked for in a topic, by key or by id; one of them whole.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, go, link, part, query, topicNames, useAsked } from "../api.js";
import { Dialog, Form } from "../forms.js";
import { t } from "../i18n.js";
import { Body, Export, OpenedRow } from "../payload.js";
import { Facts, Loading, Table, Title, Trouble, can, duration, html, number, say, time } from "../widgets.js";

export const messageColumns = () => [
  { title: t("Stored"), value: (row) => time(row.storeTimestamp) },
  { title: t("Queue"), isNumber: true, value: (row) => row.queueId },
  { title: t("Offset"), isNumber: true, value: (row) => row.queueOffset },
  { title: t("Tag"), value: (row) => row.tags },
  { title: t("Keys"), value: (row) => row.keys },
  { title: t("Body"), value: (row) => html`<a href=${link(["messages", row.id])}>${row.preview || "–"}</a>` },
  { title: t("Bytes"), isNumber: true, value: (row) => number(row.bytes) },
];

// Messages of which each row opens its body beneath itself.
function MessageTable({ caption, rows, empty = null }) {
  const [opened, setOpened] = useState(null);
  const columns = [
    { title: t("Open"), value: (row) => html`<button type="button" aria-expanded=${opened === row.id} aria-label=${`${t("Open")} ${row.queueId}/${row.queueOffset}`} onClick=${() => setOpened(opened === row.id ? null : row.id)}>${opened === row.id ? "▾" : "▸"}</button>` },
    ...messageColumns(),
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${rows} keyOf=${(row) => row.id} empty=${empty} below=${(row) => opened === row.id && html`<${OpenedRow} id=${row.id} />`} />`;
}

const millis = (text) => (text ? new Date(text).getTime() : "");
const SEARCHED = ["topic", "queueId", "begin", "end", "tag", "key", "property", "text", "expression", "order", "budget"];

// The heading of what a search found; each new search brings it into view, and so do its first rows.
function Results({ search, hasRows = false }) {
  const heading = useRef(null);
  useEffect(() => heading.current.focus(), [search.at]);
  useEffect(() => heading.current.scrollIntoView(), [search.at, hasRows]);
  return html`<h2 ref=${heading} tabindex="-1">${t("Results")}</h2>`;
}

// What a search found so far; it goes on from where it stopped.
function Found({ params }) {
  const [state, setState] = useState({ rows: [], scanned: 0, left: 0, cursor: "", isBusy: false, error: null });
  const given = { ...Object.fromEntries(SEARCHED.map((name) => [name, params[name]])), begin: millis(params.begin), end: millis(params.end) };
  const path = query(given);
  const look = async (before) => {
    setState({ ...before, isBusy: true, error: null });
    try {
      const told = await ask("GET", `/messages${path}${before.cursor ? `&cursor=${part(before.cursor)}` : ""}`);
      setState({ rows: [...before.rows, ...told.rows], scanned: before.scanned + told.scanned, start: before.start ?? told.start, left: told.left, cursor: told.cursor, isBusy: false, error: null });
    } catch (error) {
      setState({ ...before, isBusy: false, error });
    }
  };
  useEffect(() => {
    look({ rows: [], scanned: 0, left: 0, cursor: "" });
  }, [path]);
  return html`<${Results} search=${params} hasRows=${state.rows.length > 0} />
    <${Trouble} error=${state.error} />
    <p role="status">${t("Read")}: ${number(state.scanned)}, ${t("left")}: ${number(state.left)}, ${t("found")}: ${number(state.rows.length)}${state.isBusy ? "…" : ""} <progress max=${Math.max(1, state.scanned + state.left)} value=${state.scanned} aria-label=${t("Read")}></progress></p>
    <${MessageTable} caption=${t("Messages found")} rows=${state.rows} empty=${state.isBusy ? null : state.cursor ? t("Nothing found in the messages that were read: continue, or widen the search.") : t("No message fits. Widen the search.")} />
    <div class="bar"><button type="button" disabled=${!state.cursor || state.isBusy} onClick=${() => look(state)}>${t("Continue")}</button><${Export} path="/messages/export" params=${{ ...given, cursor: state.start, limit: state.rows.length, budget: state.scanned }} count=${state.rows.length} name=${params.topic} /></div>`;
}

function ByKey({ params }) {
  const given = { topic: params.topic, key: params.name };
  const asked = useAsked(`/messages/by-key${query(given)}`);
  if (!asked.value) return html`<${Results} search=${params} /><${Loading} asked=${asked} />`;
  return html`<${Results} search=${params} /><${MessageTable} caption=${asked.value.isAll ? t("Messages found") : t("The first 64")} rows=${asked.value.rows} />
    <div class="bar"><${Export} path="/messages/by-key/export" params=${given} count=${asked.value.rows.length} name=${params.topic} /></div>`;
}

export function Messages({ address }) {
  const { params } = address;
  const how = params.how ?? "topic";
  const look = (values) => {
    if (how === "id") return go(["messages", values.id.trim()]);
    return go(["messages"], { how, ...values, at: Date.now() });
  };
  const fields = {
    topic: [
      { name: "topic", label: t("Topic"), isRequired: true, value: params.topic, complete: topicNames },
      { name: "begin", label: t("Stored after"), type: "datetime-local", step: 1, value: params.begin },
      { name: "end", label: t("Stored before"), type: "datetime-local", step: 1, value: params.end },
      { name: "tag", label: t("Tag"), value: params.tag },
      { name: "key", label: t("Key"), value: params.key },
      { name: "property", label: t("Property: name or name=value"), value: params.property },
      { name: "text", label: t("Text in the body"), value: params.text },
      { name: "expression", label: t("Expression, such as amount > 5 AND $.region = 'north'"), value: params.expression },
      { name: "order", label: t("Order"), choices: [["newest", t("Newest first")], ["oldest", t("Oldest first")]], value: params.order },
      { name: "budget", label: t("Messages to read per step"), type: "number", min: 1, value: params.budget ?? 2000 },
    ],
    key: [
      { name: "topic", label: t("Topic"), isRequired: true, value: params.topic, complete: topicNames },
      { name: "name", label: t("Key, or the id that clients show"), isRequired: true, value: params.name },
    ],
    id: [{ name: "id", label: t("The id that the broker gave"), isRequired: true }],
  };
  const ways = [["topic", t("In a topic")], ["key", t("By key")], ["id", t("By id")]];
  return html`<${Title}>${t("Messages")}<//>
    <div class="bar" role="group" aria-label=${t("Search mode")}>${ways.map(([way, title]) => html`<button type="button" aria-pressed=${way === how} class=${way === how ? "main" : ""} onClick=${() => go(["messages"], { how: way, topic: params.topic })}>${title}</button>`)}</div>
    <${Form} key=${JSON.stringify(params)} fields=${fields[how]} send=${look} button=${t("Find")} />
    ${how === "topic" && params.topic && html`<${Found} params=${params} />`}
    ${how === "key" && params.topic && params.name && html`<${ByKey} params=${params} />`}`;
}

// The trace as a graph: who sent it, the store, who consumed it. The table beneath says the same.
function Graph({ told, rows }) {
  const height = 60 * Math.max(1, told.sent.length, told.consumed.length) + 20;
  const middle = height / 2;
  const place = (index, count) => (height * (index + 0.5)) / Math.max(1, count);
  const box = (x, y, name, host) => html`<g><rect class="node" x=${x} y=${y - 22} width="230" height="44" rx="6" />
    <text x=${x + 115} y=${y - 4} text-anchor="middle">${name.length > 28 ? `${name.slice(0, 27)}…` : name}</text>
    <text class="small" x=${x + 115} y=${y + 13} text-anchor="middle">${host}</text></g>`;
  const edge = (from, to, y1, y2, text, isGood) => html`<g><line class=${isGood === false ? "edge failed" : "edge"} x1=${from} y1=${y1} x2=${to} y2=${y2} />
    <text class="small" x=${(from + to) / 2} y=${(y1 + y2) / 2 - 6} text-anchor="middle">${text}</text></g>`;
  const label = rows.map((row) => `${row.what} ${row.group}: ${row.after}, ${row.took}`).join("; ");
  return html`<div class="wide" tabindex="0" role="region" aria-label=${t("Graph of the trace")}><svg class="graph" role="img" aria-label=${label} viewBox=${`0 0 960 ${height}`} width="960" height=${height}>
    ${told.sent.map((one, index) => [edge(230, 365, place(index, told.sent.length), middle, duration(one.took), one.isGood), box(0, place(index, told.sent.length), one.group, one.host)])}
    ${told.consumed.map((one, index) => [edge(595, 730, middle, place(index, told.consumed.length), one.began === null ? "" : duration(one.began - told.stored), one.isGood), box(730, place(index, told.consumed.length), one.group, one.took === null ? one.host : `${one.host}, ${duration(one.took)}`)])}
    ${box(365, middle, t("Stored"), told.storeHost)}
  </svg></div>`;
}

function Trace({ id }) {
  const asked = useAsked(`/messages/${part(id)}/trace`);
  const told = asked.value;
  if (!told) return html`<h2>${t("Trace")}</h2><${Loading} asked=${asked} />`;
  if (!told.sent.length && !told.consumed.length) return html`<h2>${t("Trace")}</h2><p class="faint">${t("No client traced it")}</p>`;
  const result = (isGood) => (isGood === null ? t("in progress") : isGood ? t("done") : t("failed"));
  const rows = [
    ...told.sent.map((one) => ({ ...one, what: t("Sent by"), after: "–", took: duration(one.took), result: result(one.isGood) })),
    ...told.consumed.map((one) => ({ ...one, what: t("Consumed by"), after: one.began === null ? t("unknown") : duration(one.began - told.stored), took: one.took === null ? "–" : duration(one.took), result: result(one.isGood) })),
  ];
  return html`<h2>${t("Trace")}</h2>
    <${Graph} told=${told} rows=${rows} />
    <${Table} caption=${t("Reported by clients, by their own clocks")} rows=${rows} keyOf=${(row) => `${row.what} ${row.host} ${row.began}`} columns=${[
      { title: t("Step"), value: (row) => row.what },
      { title: t("Group"), value: (row) => row.group },
      { title: t("Address"), value: (row) => row.host },
      { title: t("Time"), value: (row) => time(row.began ?? 0) },
      { title: t("After storage"), isNumber: true, value: (row) => row.after },
      { title: t("Duration"), isNumber: true, value: (row) => row.took },
      { title: t("Result"), value: (row) => row.result },
    ]} />
    ${!told.isAll && html`<p class="warn">⚠ ${t("More results are not shown")}</p>`}`;
}

// Sends a copy of a message to its topic, or to another one.
function ResendDialog({ message, close }) {
  const fields = [{ name: "topic", label: t("Topic"), isRequired: true, value: message.topic, complete: topicNames }];
  const send = async (values) => {
    const told = await ask("POST", `/messages/${part(message.id)}/resend`, values);
    say(`${t("Sent")}: ${told.id}`);
    close();
    go(["messages", told.id]);
  };
  return html`<${Dialog} title=${t("Send the message again")} close=${close}>
    <p>${t("A new message with the same body and properties is stored; this one stays.")}</p>
    <${Form} fields=${fields} send=${send} button=${t("Send")} close=${close} />
  <//>`;
}

export function Message({ address, session }) {
  const id = address.parts[1];
  const [isResending, setResending] = useState(false);
  const asked = useAsked(`/messages/${part(id)}`);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Message")}<//><${Loading} asked=${asked} />`;
  return html`<${Title}>${t("Message")}<//>
    ${can(session, "operator") && html`<div class="bar"><button type="button" onClick=${() => setResending(true)}>${t("Send again")}</button></div>`}
    ${isResending && html`<${ResendDialog} message=${told} close=${() => setResending(false)} />`}
    <${Facts} facts=${[
      [t("Id"), told.id],
      [t("Id that clients show"), told.uniqueKey || "–"],
      [t("Topic"), html`<a href=${link(["topics", told.topic])}>${told.topic}</a>, ${t("Queue")} ${told.queueId}, ${t("Offset")} ${number(told.queueOffset)}`],
      [t("Created"), `${time(told.bornTimestamp)}, ${told.bornHost}`],
      [t("Stored"), `${time(told.storeTimestamp)}, ${told.storeHost}, ${number(told.physicalOffset)}`],
      [t("Tag"), told.tags || "–"],
      [t("Keys"), told.keys || "–"],
      [t("Failed attempts"), told.reconsumeTimes],
      [t("Bytes"), number(told.bytes)],
    ]} />
    <h2>${t("Body")} <span class="tag">${told.form}</span></h2>
    <${Body} told=${told} />
    <h2>${t("Properties")}</h2>
    <${Table} caption=${t("Properties")} rows=${Object.entries(told.properties)} keyOf=${(row) => row[0]} columns=${[
      { title: t("Name"), value: (row) => row[0] },
      { title: t("Value"), value: (row) => row[1] },
    ]} />
    <h2>${t("Groups")}</h2>
    <${Table} caption=${t("Groups that have consumed it")} rows=${told.groups} keyOf=${(row) => row.group} columns=${[
      { title: t("Group"), value: (row) => html`<a href=${link(["groups", row.group])}>${row.group}</a>` },
      { title: t("Consumed"), value: (row) => (row.isPast ? t("yes") : t("no")) },
    ]} />
    <${Trace} id=${id} />`;
}
