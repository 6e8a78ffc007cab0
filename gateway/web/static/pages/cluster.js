// Brokers, replicas, name servers, clients.
import { useState } from "preact/hooks";
import { query, useAsked } from "../api.js";
import { Dialog } from "../forms.js";
import { t } from "../i18n.js";
import { Unanswered } from "./cluster-lists.js";
import { Facts, List, Loading, Table, Title, bytes, duration, html, number, time } from "../widgets.js";

function Clients({ address }) {
  return html`<h2>${t("Clients")}</h2>
    <${List} address=${address} path="/clients" caption=${t("Clients, one row for each group")} keyOf=${(row) => row.clientId + row.kind + row.group + row.address} columns=${[
      { title: t("Client"), value: (row) => row.clientId },
      { title: t("Kind"), value: (row) => t(row.kind) },
      { title: t("Group"), value: (row) => row.group },
      { title: t("Address"), value: (row) => row.address },
      { title: t("Language"), value: (row) => `${row.language} ${row.version}` },
      { title: t("Last heartbeat"), value: (row) => time(row.lastHeard) },
    ]} />`;
}

// Settings with another value at another broker.
function Compare({ row, close }) {
  const asked = useAsked("/cluster/settings" + query({ address: row.address }));
  const told = asked.value;
  return html`<${Dialog} title=${`${t("Settings compared with")} ${row.broker}/${row.brokerId}`} close=${close} isWide>
    ${!told ? html`<${Loading} asked=${asked} />` : html`<${Table} caption=${`${t("Different")}: ${number(told.rows.length)}, ${t("the same")}: ${number(told.same)}`} rows=${told.rows} keyOf=${(one) => one.name} columns=${[
      { title: t("Name"), value: (one) => html`<span class="whole">${one.name}</span>` },
      { title: t("This broker"), value: (one) => one.here ?? "–" },
      { title: row.broker, value: (one) => one.there ?? "–" },
    ]} />`}
    <div class="bar"><button type="button" onClick=${close}>${t("Close")}</button></div>
  <//>`;
}

// All brokers of the cluster with figures, those of the chosen group or of all, and their totals.
function Brokers({ heard }) {
  const asked = useAsked("/cluster/brokers", 10);
  const [chosen, choose] = useState("");
  const [compared, compare] = useState(null);
  const told = asked.value;
  if (!told) return html`<h2>${t("Brokers")}</h2><${Loading} asked=${asked} />`;
  const names = [...new Set(told.rows.map((row) => row.broker))];
  const rows = told.rows.filter((row) => !chosen || row.broker === chosen);
  const masters = rows.filter((row) => !row.error && row.brokerId === 0);
  const total = (name) => masters.reduce((sum, row) => sum + row[name], 0);
  const clusters = new Set(told.rows.map((row) => row.cluster));
  const figure = (form) => (row) => (row.error ? "" : form(row));
  return html`<h2>${t("Brokers")}</h2>
    <div class="bar"><label>${t("Broker")}<select value=${chosen} onChange=${(event) => choose(event.target.value)}><option value="">${t("all brokers")}</option>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label></div>
    <dl class="cards">${[[t("Messages in per second"), total("in").toFixed(1)], [t("Messages out per second"), total("out").toFixed(1)], [t("In today"), number(total("inToday"))], [t("Out today"), number(total("outToday"))], [t("Log"), bytes(total("logBytes"))], [t("Brokers without an answer"), number(rows.filter((row) => row.error).length)]].map(([name, value]) => html`<div class="card"><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <${Table} caption=${t("Registered with the name servers; totals are those of masters")} rows=${rows} keyOf=${(row) => row.address + row.brokerId} columns=${[
      { title: t("Broker"), value: (row) => html`<span class="whole">${row.broker}/${row.brokerId}</span> ${row.isOwn && html`<span class="tag">${t("this one")}</span>`} ${clusters.size > 1 && html`<span class="faint">${row.cluster}</span>`}` },
      { title: t("Address"), value: (row) => html`<span class="whole">${row.address}</span>` },
      { title: t("Version"), value: (row) => (row.error ? html`<span class="bad">✗ ${row.error}</span>` : row.version) },
      { title: t("In per second"), isNumber: true, value: figure((row) => row.in.toFixed(1)) },
      { title: t("Out per second"), isNumber: true, value: figure((row) => row.out.toFixed(1)) },
      { title: t("Disk used"), isNumber: true, value: figure((row) => `${(100 * row.diskUsed).toFixed(0)} %`) },
      { title: t("Lag in bytes"), isNumber: true, value: figure((row) => (row.behind === null ? "–" : number(row.behind))) },
      { title: t("Time since heartbeat"), isNumber: true, value: (row) => (heard[row.address] ? duration(heard[row.address]) : t("unknown")) },
      { title: t("Settings"), value: (row) => !row.isOwn && !row.error && html`<button type="button" aria-label=${`${t("Compare the settings of")} ${row.address}`} onClick=${() => compare(row)}>${t("Compare")}</button>` },
    ]} />
    <${Statistics} key=${chosen} brokers=${rows.filter((row) => !row.error)} />
    ${compared && html`<${Compare} row=${compared} close=${() => compare(null)} />`}`;
}

// All figures of a broker, asked for when they are opened.
function Statistics({ brokers }) {
  const [isOpen, open] = useState(false);
  const [address, choose] = useState((brokers.find((row) => row.isOwn) ?? brokers[0])?.address);
  const asked = useAsked(isOpen && address ? "/cluster/statistics" + query({ address }) : null, 10);
  return html`<details open=${isOpen} onToggle=${(event) => open(event.target.open)}><summary>${t("All runtime statistics of a broker")}</summary>
    <div class="bar"><label>${t("Address")}<select value=${address} onChange=${(event) => choose(event.target.value)}>${brokers.map((row) => html`<option value=${row.address}>${row.broker}/${row.brokerId}, ${row.address}</option>`)}</select></label></div>
    ${isOpen && address && (!asked.value ? html`<${Loading} asked=${asked} />` : html`<${Table} caption=${t("Statistics")} rows=${Object.entries(asked.value.runtime)} keyOf=${(row) => row[0]} columns=${[
      { title: t("Name"), value: (row) => html`<span class="whole">${row[0]}</span>` },
      { title: t("Value"), value: (row) => html`<span class="whole">${row[1]}</span>` },
    ]} />`)}</details>`;
}

// Replicas of all broker groups, as their masters report them.
function Replicas() {
  const asked = useAsked("/cluster/replication", 10);
  const told = asked.value;
  if (!told) return html`<h2>${t("Replicas")}</h2><${Loading} asked=${asked} />`;
  const rows = told.rows.flatMap((group) => group.replicas.map((replica) => ({ ...replica, broker: group.broker })));
  return html`<h2>${t("Replicas")}</h2>
    <${Unanswered} rows=${told.unanswered} />
    <${Table} caption=${`${t("Slaves")}: ${rows.length}, ${t("in sync")}: ${told.rows.reduce((sum, group) => sum + group.inSync, 0)}`} rows=${rows} keyOf=${(row) => row.broker + row.address} columns=${[
      { title: t("Broker"), value: (row) => html`<span class="whole">${row.broker}</span>` },
      { title: t("Address"), value: (row) => html`<span class="whole">${row.address}</span>` },
      { title: t("Acknowledged"), isNumber: true, value: (row) => number(row.offset) },
      { title: t("Lag in bytes"), isNumber: true, value: (row) => number(row.behind) },
      { title: t("Bytes per second"), isNumber: true, value: (row) => number(row.bytesPerSecond) },
      { title: t("In sync"), value: (row) => (row.inSync ? t("yes") : html`<span class="bad">${t("no")}</span>`) },
    ]} />`;
}

export function Cluster({ address }) {
  const asked = useAsked("/cluster", 10);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Cluster")}<//><${Loading} asked=${asked} />`;
  return html`<${Title}>${t("Cluster")}<//>
    <${Facts} facts=${[
      [t("Cluster"), told.cluster],
      [t("Broker"), `${told.broker}, ${told.role}, id ${told.brokerId}, ${t("epoch")} ${told.epoch}`],
      [t("Name servers"), told.nameServers.map((one) => html`<span class=${one.registered ? "good" : "bad"}>${one.registered ? "✓" : "✗"} ${one.address} </span>`)],
    ]} />
    <${Brokers} heard=${Object.fromEntries((told.brokers ?? []).map((row) => [row.address, row.heardBefore]))} />
    <${Replicas} />
    <${Clients} address=${address} />`;
}
