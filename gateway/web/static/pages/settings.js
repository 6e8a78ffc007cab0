// The broker's settings by group; a change is shown as it would be before it is made.
import { useState } from "preact/hooks";
import { go, query, useAsked } from "../api.js";
import { Dialog, Form } from "../forms.js";
import { t } from "../i18n.js";
import { Loading, Title, Trouble, act, can, html, number } from "../widgets.js";

const OPEN_MAX = 40;

function Change({ row, close, done }) {
  const [wanted, setWanted] = useState(null);
  const change = async () => {
    if (await act("PUT", "/settings", { changes: { [row.name]: wanted } }, t("Saved"))) {
      done();
      close();
    }
  };
  return html`<${Dialog} title=${row.name} close=${close}>
    <p>${row.meaning} ${row.unit && `(${t(row.unit)})`}</p>
    <${Form} fields=${[{ name: "value", label: t("New value"), value: row.isSecret ? "" : row.value }]} send=${async (values) => setWanted(values.value)} changed=${() => setWanted(null)} button=${t("Show what would change")} close=${close} />
    ${wanted !== null && html`<pre tabindex="0">- ${row.name}=${row.value}
+ ${row.name}=${row.isSecret ? "…" : wanted}</pre><div class="bar"><button type="button" class="danger" onClick=${change}>${t("Apply")}</button></div>`}
  <//>`;
}

function Setting({ row, session, change }) {
  const origin = row.origin === "default" ? t("default value") : `${t("set by")} ${t(row.origin)}, ${t("default value")} ${row.default || "–"}`;
  return html`<li>
    <p><code>${row.name}</code> = <code>${row.value || "–"}</code> ${row.unit && t(row.unit)}</p>
    ${!row.fixed && can(session, "admin") && html`<button type="button" aria-label=${`${t("Change")} ${row.name}`} onClick=${() => change(row)}>${t("Change")}</button>`}
    <p>${row.meaning}</p>
    <p class="faint">${origin}${row.fixed && `; ${t(row.fixed)}`}</p>
  </li>`;
}

function Group({ title, rows, isOpen, session, change }) {
  const [isShown, setShown] = useState(isOpen);
  return html`<details open=${isShown} onToggle=${(event) => setShown(event.target.open)}>
    <summary>${t(title)} <span class="faint">${number(rows.length)}</span></summary>
    ${isShown && html`<ul class="settings">${rows.map((row) => html`<${Setting} key=${row.name} row=${row} session=${session} change=${change} />`)}</ul>`}
  </details>`;
}

export function Settings({ address, session }) {
  const { parts, params } = address;
  const [changing, setChanging] = useState(null);
  const asked = useAsked("/settings" + query({ search: params.search, changed: params.changed }));
  const told = asked.value;
  const show = (changed) => go(parts, { ...params, ...changed }, true);
  const isOpen = Boolean(told) && told.total <= OPEN_MAX;
  const groups = told ? told.groups.map((title) => [title, told.rows.filter((row) => row.group === title)]).filter(([, rows]) => rows.length) : [];
  return html`<${Title}>${t("Settings")}<//>
    <div class="bar" role="search">
      <label>${t("Search")}<input id="search" type="search" value=${params.search ?? ""} onInput=${(event) => show({ search: event.target.value })} /></label>
      <label class="check"><input type="checkbox" checked=${params.changed === "true"} onChange=${(event) => show({ changed: event.target.checked ? "true" : "" })} />${t("Only settings that were set")}</label>
    </div>
    ${!told ? html`<${Loading} asked=${asked} />` : html`<${Trouble} error=${asked.error} />
      <p class="faint" role="status">${t("Settings")}: ${number(told.total)}</p>
      ${groups.map(([title, rows]) => html`<${Group} key=${`${title} ${isOpen}`} title=${title} rows=${rows} isOpen=${isOpen} session=${session} change=${setChanging} />`)}`}
    ${changing && html`<${Change} row=${changing} close=${() => setChanging(null)} done=${asked.reload} />`}`;
}
