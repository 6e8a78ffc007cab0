// The body of a message: as text, as a tree of JSON, as hexadecimal digits with offsets; and messages as files.
import { useState } from "preact/hooks";
import { file, part, query, useAsked } from "./api.js";
import { t } from "./i18n.js";
import { Loading, Table, html, number, say } from "./widgets.js";

const HEX_WIDTH = 16;
const OPEN_DEPTH = 2;

const printable = (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".");

// The bytes of a body that the API gives as text or as hexadecimal digits.
export function bytesOf(told) {
  if (told.form !== "hex") return new TextEncoder().encode(told.body);
  return Uint8Array.from(told.body.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

// Lines of an offset, sixteen bytes and their characters.
export function dump(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += HEX_WIDTH) {
    const row = [...bytes.subarray(at, at + HEX_WIDTH)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${digits.padEnd(3 * HEX_WIDTH - 1)}  ${row.map(printable).join("")}`);
  }
  return lines.join("\n");
}

// A JSON text with its large integers whole, where the browser gives their digits.
const parsed = (text) => JSON.parse(text, (_, value, context) => (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value));

function Tree({ name, value, depth }) {
  const label = name === null ? "" : html`<span class="faint">${name}: </span>`;
  if (value === null || typeof value !== "object") return html`<li>${label}<code>${typeof value === "bigint" ? String(value) : JSON.stringify(value)}</code></li>`;
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return html`<li><details open=${depth < OPEN_DEPTH}><summary>${label}${size}</summary>
    <ul class="tree">${entries.map(([key, one]) => html`<${Tree} key=${key} name=${key} value=${one} depth=${depth + 1} />`)}</ul></details></li>`;
}

// A body in one of its forms, with buttons for the others.
export function Body({ told }) {
  const forms = [...(told.form === "json" ? [["tree", t("JSON tree")]] : []), ...(told.form === "hex" ? [] : [["text", t("Text")]]), ["hex", t("Hexadecimal")]];
  const [form, setForm] = useState(forms[0][0]);
  const shown = () => {
    if (form === "tree") return html`<ul class="tree">${html`<${Tree} name=${null} value=${parsed(told.body)} depth=${0} />`}</ul>`;
    if (form === "hex") return html`<pre class="dump" tabindex="0" aria-label=${t("Body")}>${dump(bytesOf(told))}</pre>`;
    return html`<pre tabindex="0" aria-label=${t("Body")}>${told.body}</pre>`;
  };
  const copy = () => navigator.clipboard.writeText(told.form === "hex" ? dump(bytesOf(told)) : told.body).then(() => say(t("Copied")), () => say(t("The browser refused to copy"), true));
  return html`
    ${told.codec && html`<p class="faint">${t("Decompressed from")} ${told.codec}, ${number(told.bytes)} ${t("bytes")}</p>`}
    ${!told.isWhole && html`<p class="warn">⚠ ${t("Only the first 64 KiB are shown")}</p>`}
    <div class="bar" role="group" aria-label=${t("Form of the body")}>
      ${forms.map(([name, title]) => html`<button type="button" aria-pressed=${name === form} class=${name === form ? "main" : ""} onClick=${() => setForm(name)}>${title}</button>`)}
      <button type="button" onClick=${copy}>${t("Copy")}</button>
      <button type="button" onClick=${() => download(`/messages/${part(told.id)}/body`, `${told.id}.bin`)}>${t("Download")}</button>
    </div>
    ${shown()}`;
}

// The message of a row, beneath it: its body and its properties.
export function OpenedRow({ id }) {
  const asked = useAsked(`/messages/${part(id)}`);
  if (!asked.value) return html`<${Loading} asked=${asked} />`;
  return html`<${Body} told=${asked.value} />
    <${Table} caption=${t("Properties")} rows=${Object.entries(asked.value.properties)} keyOf=${(row) => row[0]} columns=${[
      { title: t("Name"), value: (row) => row[0] },
      { title: t("Value"), value: (row) => row[1] },
    ]} />`;
}

// Files.

// Saves a file of the API.
async function download(path, name) {
  try {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(await file(path));
    anchor.download = name;
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  } catch (error) {
    say(t(error.message), true);
  }
}

// Buttons that save the messages of an export as lines of JSON, with bodies and properties, or as CSV, as they are
// listed. `params` are those of the export at `path`; nothing is saved if `count` is 0.
export function Export({ path, params, count, name }) {
  const [isBusy, setBusy] = useState(false);
  const button = (form, title) => {
    const start = async () => {
      setBusy(true);
      await download(path + query({ ...params, form }), `${name}.${form}`);
      setBusy(false);
    };
    return html`<button type="button" disabled=${!count || isBusy} onClick=${start}>${title}</button>`;
  };
  return html`${button("jsonl", t("Download as JSON lines"))} ${button("csv", t("Download as CSV"))}`;
}
