// Brokers, replicas, name servers, clients; the broker's settings.
import { useState } from "preact/hooks";
import { ask, useAsked } from "../api.js";
import { Dialog, Form } from "../forms.js";
import { t } from "../i18n.js";
import { Facts, List, Loading, Table, Title, act, can, duration, html, number, say, time } from "../widgets.js";

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
      <${Table} caption=${t("Known to the name server in this process")} rows=${told.brokers} keyOf=${(row) => row.address} columns=${[
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
          { title: t("Bytes a second"), isNumber: true, value: (row) => number(row.bytesPerSecond) },
          { title: t("In sync"), value: (row) => (row.inSync ? t("yes") : html`<span class="bad">${t("no")}</span>`) },
        ]} />`
      : html`<p class="faint">${t("nothing")}</p>`}
    <${Clients} address=${address} />
    <h2>${t("Statistics")}</h2>
    <details><summary>${t("All runtime statistics of the broker")}</summary>
      <${Table} caption=${t("Statistics")} rows=${Object.entries(told.runtime)} keyOf=${(row) => row[0]} columns=${[
        { title: t("Name"), value: (row) => row[0] },
        { title: t("Value"), value: (row) => row[1] },
      ]} /></details>`;
}

// A change is shown as it would be before it is made.
function Change({ row, close, done }) {
  const [wanted, setWanted] = useState(null);
  const change = async () => {
    const told = await act("PUT", "/settings", { changes: { [row.name]: wanted } }, t("Saved"));
    if (told) {
      done();
      close();
    }
  };
  return html`<${Dialog} title=${row.name} close=${close}>
    <p>${row.meaning} ${row.unit && `(${row.unit})`}</p>
    <${Form} fields=${[{ name: "value", label: t("New value"), value: row.isSecret ? "" : row.value }]} send=${async (values) => setWanted(values.value)} changed=${() => setWanted(null)} button=${t("Show what would change")} close=${close} />
    ${wanted !== null && html`<pre tabindex="0">- ${row.name}=${row.value}
+ ${row.name}=${row.isSecret ? "…" : wanted}</pre><div class="bar"><button type="button" class="danger" onClick=${change}>${t("Do it")}</button></div>`}
  <//>`;
}

export function Settings({ address, session }) {
  const [changing, setChanging] = useState(null);
  const [version, setVersion] = useState(0);
  const filters = (params, change) => html`<label class="check"><input type="checkbox" checked=${params.changed === "true"} onChange=${(event) => change({ changed: event.target.checked ? "true" : "" })} />${t("Only settings that were set")}</label>`;
  return html`<${Title}>${t("Settings")}<//>
    <${SettingsList} address=${address} session=${session} filters=${filters} version=${version} change=${setChanging} />
    ${changing && html`<${Change} row=${changing} close=${() => setChanging(null)} done=${() => setVersion(version + 1)} />`}`;
}

function SettingsList({ address, session, filters, version, change }) {
  return html`<${List} address=${address} path="/settings" more=${{ changed: address.params.changed }} version=${version} caption=${t("Settings")} keyOf=${(row) => row.name} filters=${filters} columns=${[
    { title: t("Name"), value: (row) => row.name },
    { title: t("Value"), value: (row) => html`<code>${row.value}</code>` },
    { title: t("From"), value: (row) => row.origin },
    { title: t("Meaning"), value: (row) => `${row.meaning}${row.unit ? ` (${row.unit})` : ""}` },
    { title: t("Change"), value: (row) => (row.fixed ? html`<span class="faint">${row.fixed}</span>` : can(session, "admin") && html`<button type="button" aria-label=${`${t("Change")} ${row.name}`} onClick=${() => change(row)}>${t("Change")}</button>`) },
  ]} />`;
}
