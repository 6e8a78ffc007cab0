// Every connection of the broker's ports.
import { useState } from "preact/hooks";
import { link } from "../api.js";
import { Dialog } from "../forms.js";
import { t } from "../i18n.js";
import { List, Title, act, can, duration, html } from "../widgets.js";

function Close({ row, close, done }) {
  const end = async () => {
    if (await act("DELETE", `/connections/${row.id}`, null, t("The connection is closed"))) {
      done();
      close();
    }
  };
  return html`<${Dialog} title=${`${t("Close the connection")} ${row.address}`} close=${close}>
    <p>${row.clients.join(", ")}</p>
    <p>${t("Its pending requests fail. The client usually reconnects.")}</p>
    <div class="bar"><button type="button" class="danger" onClick=${end}>${t("Apply")}</button><button type="button" onClick=${close}>${t("Cancel")}</button></div>
  <//>`;
}

export function Connections({ address, session }) {
  const [closing, setClosing] = useState(null);
  const [version, setVersion] = useState(0);
  const groups = (row) => row.groups.map((one) => (one.kind === "consumer" ? html`<a href=${link(["groups", one.group])}>${one.group}</a> ` : `${one.group} (${t("producer")}) `));
  return html`<${Title}>${t("Connections")}<//>
    <${List} address=${address} path="/connections" version=${version} caption=${t("Connections")} keyOf=${(row) => row.id} columns=${[
      { title: t("Address"), sort: "address", value: (row) => html`<span class="whole">${row.address}</span>` },
      { title: t("Port"), isNumber: true, value: (row) => row.port },
      { title: "TLS", value: (row) => (row.isSecure ? t("yes") : t("no")) },
      { title: t("Client"), value: (row) => row.clients.join(", ") || html`<span class="faint">${t("unknown")}</span>` },
      { title: t("Language"), value: (row) => row.languages.join(", ") },
      { title: t("Groups"), value: groups },
      { title: t("Last request"), value: (row) => row.lastRequest || "–" },
      { title: t("Idle for"), isNumber: true, sort: "quiet", value: (row) => duration(row.quiet) },
      { title: t("Open for"), isNumber: true, sort: "age", value: (row) => duration(row.age) },
      ...(can(session, "admin") ? [{ title: t("Close"), value: (row) => html`<button type="button" aria-label=${`${t("Close the connection")} ${row.address}`} onClick=${() => setClosing(row)}>${t("Close")}</button>` }] : []),
    ]} />
    ${closing && html`<${Close} row=${closing} close=${() => setClosing(null)} done=${() => setVersion(version + 1)} />`}`;
}
