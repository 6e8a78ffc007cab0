// What pages are put together from: tables, dialogs, forms, charts, messages to the reader.
import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import htm from "htm";
import uPlot from "uplot";
import { ask, go, query, useAsked } from "./api.js";
import { locale, t } from "./i18n.js";
import { hiddenOf, keepHidden, keepOrder, orderOf } from "./preferences.js";

export const html = htm.bind(h);

export const number = (value) => (value === null || value === undefined ? t("unknown") : value.toLocaleString(locale()));
export const perm = (bits) => (bits & 4 ? "R" : "-") + (bits & 2 ? "W" : "-");
export const time = (ms) => (ms > 0 ? new Date(ms).toLocaleString(locale()) : "–");

export function duration(ms) {
  if (!(ms > 0)) return "0";
  const units = [[86400000, "d"], [3600000, "h"], [60000, "min"], [1000, "s"]];
  const [size, name] = units.find(([one]) => ms >= one) ?? [1, "ms"];
  return `${(ms / size).toFixed(ms / size < 10 && size > 1 ? 1 : 0)} ${name}`;
}

export function bytes(count) {
  const power = count > 0 ? Math.min(5, Math.floor(Math.log(count) / Math.log(1024))) : 0;
  return `${(count / 1024 ** power).toFixed(power ? 1 : 0)} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][power]}`;
}

// Messages to the reader, which screen readers say.

let tell = () => {};

export function say(text, isBad = false) {
  tell({ text, isBad, at: Date.now() });
}

export function Toast() {
  const [said, setSaid] = useState(null);
  tell = setSaid;
  useEffect(() => {
    const timer = said && setTimeout(() => setSaid(null), said.isBad ? 10000 : 4000);
    return () => clearTimeout(timer);
  }, [said]);
  return html`<div role="status" aria-live="polite">
    ${said && html`<div class=${"toast" + (said.isBad ? " bad" : "")}>${said.text}</div>`}
  </div>`;
}

export const Trouble = ({ error }) => error && html`<p class="bad said" role="alert">${t(error.message)}</p>`;

export const Loading = ({ asked }) =>
  asked.error ? html`<${Trouble} error=${asked.error} />` : html`<p class="faint loading">${t("Loading")}…</p>`;

export function Title({ children }) {
  const heading = useRef(null);
  const text = [children].flat().join("");
  useEffect(() => {
    document.title = `${text} – mqgateway`;
    heading.current.focus();
  }, [text]);
  return html`<h1 ref=${heading} tabindex="-1">${children}</h1>`;
}

// A table. Columns: {name, title, value(row), isNumber, sort}; `order` is {sort, descending, change}.
// `below(row)` is shown in a row of its own beneath; `empty` says what to do while there are no rows.
export function Table({ caption, columns, rows, keyOf, order, below = () => null, empty = null }) {
  const heading = (column) => {
    if (!column.sort || !order) return column.title;
    const isIt = order.sort === column.sort;
    const change = () => order.change(column.sort, isIt ? !order.descending : Boolean(column.isNumber));
    return html`<button type="button" onClick=${change}>${column.title}${isIt ? (order.descending ? " ▼" : " ▲") : ""}</button>`;
  };
  const sorted = (column) =>
    order && column.sort && order.sort === column.sort ? (order.descending ? "descending" : "ascending") : undefined;
  return html`<div class="wide" tabindex="0" role="region" aria-label=${caption}><table>
    <caption>${caption}</caption>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.isNumber ? "number" : ""} aria-sort=${sorted(column)}>${heading(column)}</th>`)}</tr></thead>
    <tbody>
      ${rows.map((row) => {
        const more = below(row);
        return [html`<tr key=${keyOf(row)}>${columns.map((column) => html`<td class=${column.isNumber ? "number" : ""}>${column.value(row)}</td>`)}</tr>`,
          more && html`<tr key=${`${keyOf(row)} below`}><td class="below" colspan=${columns.length}>${more}</td></tr>`];
      })}
      ${rows.length === 0 && html`<tr><td colspan=${columns.length} class="faint">${empty ?? t("no entries")}</td></tr>`}
    </tbody>
  </table></div>`;
}

// Check boxes for the columns of a list; the first one is always shown.
function ColumnChoice({ columns, hidden, change }) {
  const toggle = (index) => change(hidden.includes(index) ? hidden.filter((one) => one !== index) : [...hidden, index]);
  return html`<details class="choice"><summary>${t("Columns")}</summary><div>
    ${columns.map((column, index) => index > 0 && html`<label class="check"><input type="checkbox" checked=${!hidden.includes(index)} onChange=${() => toggle(index)} />${column.title}</label>`)}
  </div></details>`;
}

// A list that the server pages, sorts and searches. How it is shown stands in the address; an order and columns
// that were chosen are kept for the next visit. `empty` says what to do if there are no rows, `note(answer)`
// is shown above the table, `below(row)` as by a table.
export function List({ address, path, caption, columns, keyOf, more = {}, filters = null, actions = null, seconds = 0, version = 0, empty = null, below = undefined, note = null }) {
  const { parts } = address;
  const isOrder = (name) => name && columns.some((column) => column.sort === name);
  const params = isOrder(address.params.sort) ? address.params : { ...address.params, sort: undefined, descending: undefined, ...orderOf(path) };
  const [cursors, setCursors] = useState([]);
  const [hidden, setHidden] = useState(() => hiddenOf(path));
  const asked = useAsked(path + query({ ...more, search: params.search, sort: params.sort, descending: params.descending, cursor: cursors.at(-1) }), seconds);
  useEffect(() => { if (version) asked.reload(); }, [version]);
  const change = (changed) => {
    setCursors([]);
    go(parts, { ...params, ...changed }, true);
  };
  const order = {
    sort: params.sort ?? columns.find((column) => column.sort)?.sort,
    descending: params.descending === "true",
    change: (sort, isDescending) => {
      const chosen = { sort, descending: isDescending ? "true" : "" };
      keepOrder(path, chosen);
      change(chosen);
    },
  };
  const hide = (next) => {
    keepHidden(path, next);
    setHidden(next);
  };
  const value = asked.value;
  return html`
    <div class="bar" role="search">
      <label>${t("Search")}<input id="search" type="search" value=${params.search ?? ""} onInput=${(event) => change({ search: event.target.value })} /></label>
      ${filters && filters(params, change)}
      <button type="button" onClick=${asked.reload}>${t("Refresh")}</button>
      <${ColumnChoice} columns=${columns} hidden=${hidden} change=${hide} />
      ${actions}
    </div>
    <${Trouble} error=${asked.error} />
    ${!value && !asked.error && html`<${Loading} asked=${asked} />`}
    ${value && note && note(value)}
    ${value && html`<${Table} caption=${`${caption}: ${number(value.total)}`} columns=${columns.filter((_, index) => !hidden.includes(index))} rows=${value.rows} keyOf=${keyOf} order=${order} empty=${empty} below=${below} />
    <div class="bar">
      <button type="button" disabled=${!cursors.length} onClick=${() => setCursors(cursors.slice(0, -1))}>${t("Previous")}</button>
      <button type="button" disabled=${!value.cursor} onClick=${() => setCursors([...cursors, value.cursor])}>${t("Next")}</button>
      <span class="faint">${t("Page")} ${cursors.length + 1}</span>
    </div>`}`;
}

const hour = (seconds) => new Date(seconds * 1000).toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" });

// Lines over time: `series` names columns of `data`, which has `time` in s too.
export function Chart({ title, data, series, form = number }) {
  const place = useRef(null);
  const names = series.map(([name]) => name).join();
  useEffect(() => {
    if (!data || data.time.length < 2) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colours = [style.getPropertyValue("--link"), style.getPropertyValue("--warn"), style.getPropertyValue("--good")];
    const axis = { stroke: style.getPropertyValue("--faint"), grid: { stroke: style.getPropertyValue("--line"), width: 1 } };
    const chart = new uPlot(
      {
        width: Math.max(280, place.current.clientWidth),
        height: 180,
        axes: [{ ...axis, values: (_, times) => times.map(hour) }, { ...axis, size: 70, values: (_, values) => values.map((value) => form(value)) }],
        series: [{ label: t("Time"), value: (_, seconds) => (seconds === null ? "–" : time(seconds * 1000)) }, ...series.map(([, label], index) => ({ label, stroke: colours[index], width: 1.5 }))],
      },
      [data.time, ...series.map(([name]) => data[name])],
      place.current,
    );
    const follower = new ResizeObserver(() => chart.setSize({ width: Math.max(280, place.current.clientWidth), height: 180 }));
    follower.observe(place.current);
    return () => {
      follower.disconnect();
      chart.destroy();
    };
  }, [data, names]);
  const last = data && data.time.length ? series.map(([name, label]) => `${label} ${form(data[name].at(-1))}`).join(", ") : t("no data yet");
  return html`<figure aria-label=${`${title}: ${last}`}><figcaption class="faint">${title}: ${last}</figcaption><div ref=${place} aria-hidden="true"></div></figure>`;
}

// Columns of equal width, for counts by time: {begin, end, messages}.
export function Columns({ title, bars }) {
  const most = Math.max(1, ...bars.map((bar) => bar.messages));
  return html`<figure aria-label=${title}><figcaption class="faint">${title}</figcaption><div class="columns" aria-hidden="true">
    ${bars.map((bar) => html`<span title=${`${time(bar.begin)}: ${bar.messages}`} style=${{ height: `${(100 * bar.messages) / most}%` }}></span>`)}
  </div></figure>`;
}

// Do something and say so; gives whether it went well.
export async function act(method, path, body, said) {
  try {
    const told = await ask(method, path, body);
    if (said) say(said);
    return told;
  } catch (error) {
    say(t(error.message), true);
    return null;
  }
}

export const Facts = ({ facts }) =>
  html`<dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

export const can = (session, role) =>
  ["nobody", "viewer", "reader", "operator", "admin"].indexOf(session.role) >= ["nobody", "viewer", "reader", "operator", "admin"].indexOf(role) &&
  !(session.isReadOnly && (role === "operator" || role === "admin"));
