// Topics and groups of all brokers of the cluster in one list; a row opens its figures by broker.
import { useState } from "preact/hooks";
import { link, useAsked } from "../api.js";
import { t } from "../i18n.js";
import { List, Table, html, number, perm, time } from "../widgets.js";
import { stateOf } from "./group-states.js";

const ALL = "*";

// The brokers of the cluster, and whose list is shown: {own, names, chosen}; `chosen` is empty for all. Until the
// brokers are known, and in a cluster of one, it is this broker's own.
export function useBrokers(address) {
  const told = useAsked("/cluster/masters").value;
  const names = told ? told.rows.map((row) => row.broker) : [];
  if (names.length < 2) return { own: true, names, chosen: "" };
  const chosen = address.params.broker ?? ALL;
  return { own: chosen === told.own, names, chosen: chosen === ALL ? "" : chosen };
}

// A choice between all brokers and one, if there are several.
export function BrokerPicker({ brokers, change }) {
  if (brokers.names.length < 2) return null;
  return html`<label>${t("Broker")}<select value=${brokers.chosen || ALL} onChange=${(event) => change({ broker: event.target.value })}>
    <option value=${ALL}>${t("all brokers")}</option>${brokers.names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
}

// Brokers that gave no answer, each with its reason.
export const Unanswered = ({ rows }) =>
  rows.map((one) => html`<p class="warn" role="status">⚠ ${t("No answer from")} ${one.broker}: ${one.reason}</p>`);

const figure = (value, form = number) => (value === null ? "–" : form(value));

const shared = {
  topics: () => [
    { title: t("Broker"), value: (one) => html`<span class="whole">${one.broker}</span> ${one.isOwn && html`<span class="tag">${t("this one")}</span>`} ${one.error && html`<span class="bad">✗ ${one.error}</span>`}` },
    { title: t("Permission"), value: (one) => perm(one.perm) },
    { title: t("Queues"), isNumber: true, value: (one) => `${one.readQueues} / ${one.writeQueues}` },
    { title: t("Messages"), isNumber: true, value: (one) => figure(one.messages) },
    { title: t("In per second"), isNumber: true, value: (one) => figure(one.rate) },
    { title: t("Last message"), value: (one) => figure(one.lastTimestamp, time) },
  ],
  groups: () => [
    { title: t("Broker"), value: (one) => html`<span class="whole">${one.broker}</span> ${one.isOwn && html`<span class="tag">${t("this one")}</span>`} ${one.error && html`<span class="bad">✗ ${one.error}</span>`}` },
    { title: t("Members"), isNumber: true, value: (one) => figure(one.members) },
    { title: t("Lag"), isNumber: true, value: (one) => figure(one.behind) },
    { title: t("Fetched per second"), isNumber: true, value: (one) => figure(one.rate) },
    { title: t("State"), value: (one) => figure(one.state, () => stateOf(one)) },
  ],
};

const totals = {
  topics: () => [
    { title: t("Topic"), sort: "name", value: (row) => html`<a href=${link(["topics", row.topic])}>${row.topic}</a>` },
    { title: t("Type"), value: (row) => html`<span class="tag">${row.kind}</span>${row.isKafka && html` <span class="tag">Kafka</span>`}` },
    { title: t("Queues"), isNumber: true, value: (row) => (row.readQueues === row.writeQueues ? row.readQueues : `${row.readQueues} / ${row.writeQueues}`) },
    { title: t("Messages"), isNumber: true, sort: "messages", value: (row) => number(row.messages) },
    { title: t("In per second"), isNumber: true, sort: "rate", value: (row) => row.rate },
    { title: t("Last message"), value: (row) => time(row.lastTimestamp) },
  ],
  groups: () => [
    { title: t("Group"), sort: "name", value: (row) => (row.isOwn ? html`<a href=${link(["groups", row.group])}>${row.group}</a>` : row.group) },
    { title: t("Members"), isNumber: true, value: (row) => number(row.members) },
    { title: t("Lag"), isNumber: true, sort: "behind", value: (row) => number(row.behind) },
    { title: t("Fetched per second"), isNumber: true, value: (row) => row.rate },
    { title: t("State"), value: (row) => (row.behind && row.isOwn ? html`<a href=${link(["groups", row.group], { show: "diagnosis" })} title=${t("Why is it stuck?")}>${stateOf(row)}</a>` : stateOf(row)) },
  ],
};

// The list of `what`, which is "topics" or "groups", of all brokers or of the chosen one. `nameOf(row)` is its name.
export function ClusterList({ what, address, brokers, more = {}, caption, nameOf, filters, actions, empty }) {
  const [opened, setOpened] = useState("");
  const columns = [
    { title: t("Open"), value: (row) => html`<button type="button" aria-expanded=${opened === nameOf(row)} aria-label=${`${t("Open")} ${nameOf(row)}`} onClick=${() => setOpened(opened === nameOf(row) ? "" : nameOf(row))}>${opened === nameOf(row) ? "▾" : "▸"}</button>` },
    ...totals[what](),
    { title: t("Brokers"), isNumber: true, value: (row) => row.brokers.length },
  ];
  const below = (row) => opened === nameOf(row) && html`<${Table} caption=${`${nameOf(row)}: ${t("by broker")}`} rows=${row.brokers} keyOf=${(one) => one.broker} columns=${shared[what]()} />`;
  return html`<${List} address=${address} path=${`/cluster/${what}`} more=${{ broker: brokers.chosen, ...more }} caption=${caption} columns=${columns} keyOf=${nameOf} filters=${filters} actions=${actions} empty=${empty} below=${below}
    note=${(value) => html`<${Unanswered} rows=${value.unanswered} />${value.unsorted?.map((name) => html`<p class="warn" role="status">⚠ ${t("Not in the order, as it returns no such figures of all")}: ${name}</p>`)}`} />`;
}
