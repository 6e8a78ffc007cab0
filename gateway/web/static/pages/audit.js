// What was changed in the console.
import { t } from "../i18n.js";
import { List, Title, html, time } from "../widgets.js";

// JSON on one line, with spaces at which it can be broken.
const text = (value) => (value === undefined || value === null ? "" : JSON.stringify(value, null, 1).replace(/\n\s*/g, " "));

export function Audit({ address }) {
  return html`<${Title}>${t("Audit")}<//>
    <${List} address=${address} path="/audit" caption=${t("Since the broker started, newest first")} keyOf=${(row) => `${row.time}${row.action}${text(row.about)}`} columns=${[
      { title: t("Time"), value: (row) => time(row.time) },
      { title: t("User"), value: (row) => `${row.user} ${row.address}` },
      { title: t("Operation"), value: (row) => row.action },
      { title: t("Parameters"), value: (row) => html`<code>${text(row.about)}</code>` },
      { title: t("Before"), value: (row) => html`<code>${text(row.before)}</code>` },
      { title: t("After"), value: (row) => html`<code>${text(row.after)}</code>` },
      { title: t("Refused"), value: (row) => html`<span class="bad">${row.refusal}</span>` },
    ]} />`;
}
