// Brokers, replicas, name servers, clients.
import { useAsked } from "../api.js";
import { t } from "../i18n.js";
import { Facts, List, Loading, Table, Title, duration, html, number, time } from "../widgets.js";

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

export function Cluster({ address }) {
  const asked = useAsked("/cluster", 10);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Cluster")}<//><${Loading} asked=${asked} />`;
  const ha = told.replication;
  return html`<${Title}>${t("Cluster")}<//>
    <${Facts} facts=${[
      [t("Cluster"), told.cluster],
      [t("Broker"), `${told.broker}, ${told.role}, id ${told.brokerId}, ${t("epoch")} ${told.epoch}`],
      [t("Name servers"), told.nameServers.map((one) => html`<span class=${one.registered ? "good" : "bad"}>${one.registered ? "✓" : "✗"} ${one.address} </span>`)],
    ]} />
    ${told.brokers && html`<h2>${t("Brokers")}</h2>
      <${Table} caption=${t("Registered with the name servers")} rows=${told.brokers} keyOf=${(row) => row.address} columns=${[
        { title: t("Cluster"), value: (row) => row.cluster },
        { title: t("Broker"), value: (row) => row.broker },
        { title: t("Id"), isNumber: true, value: (row) => row.brokerId },
        { title: t("Address"), value: (row) => row.address },
        { title: t("Time since heartbeat"), isNumber: true, value: (row) => (row.heardBefore === null ? t("unknown") : duration(row.heardBefore)) },
      ]} />`}
    <h2>${t("Replicas")}</h2>
    ${ha.slaves
      ? html`<${Table} caption=${`${t("Slaves")}: ${ha.slaves.length}, ${t("in sync")}: ${ha.inSync}`} rows=${ha.slaves} keyOf=${(row) => row.address} columns=${[
          { title: t("Address"), value: (row) => row.address },
          { title: t("Acknowledged"), isNumber: true, value: (row) => number(row.offset) },
          { title: t("Lag in bytes"), isNumber: true, value: (row) => number(row.behind) },
          { title: t("Bytes per second"), isNumber: true, value: (row) => number(row.bytesPerSecond) },
          { title: t("In sync"), value: (row) => (row.inSync ? t("yes") : html`<span class="bad">${t("no")}</span>`) },
        ]} />`
      : html`<p class="faint">${t("no entries")}</p>`}
    <${Clients} address=${address} />
    <h2>${t("Statistics")}</h2>
    <details><summary>${t("All runtime statistics of the broker")}</summary>
      <${Table} caption=${t("Statistics")} rows=${Object.entries(told.runtime)} keyOf=${(row) => row[0]} columns=${[
        { title: t("Name"), value: (row) => html`<span class="whole">${row[0]}</span>` },
        { title: t("Value"), value: (row) => html`<span class="whole">${row[1]}</span>` },
      ]} /></details>`;
}
