// Dead letters: which groups have some; those of a group, to be sent again.
import { useState } from "preact/hooks";
import { link, part, query, useAsked } from "../api.js";
import { t } from "../i18n.js";
import { Export } from "../payload.js";
import { List, Loading, Table, Title, act, can, html, number, say, time } from "../widgets.js";
import { messageColumns } from "./messages.js";

const PAGE = 100;

function OfGroup({ group, session }) {
  const [cursors, setCursors] = useState([]);
  const [chosen, setChosen] = useState(new Set());
  const [to, setTo] = useState("topic");
  const [results, setResults] = useState(null);
  const page = { topic: `%DLQ%${group}`, limit: PAGE, budget: PAGE };
  const asked = useAsked(`/messages${query({ ...page, cursor: cursors.at(-1) })}`);
  const told = asked.value;
  if (!told) return html`<${Title}>${t("Dead letters")}: ${group}<//><${Loading} asked=${asked} />`;
  // Only messages that are shown are chosen.
  const turn = (next) => {
    setChosen(new Set());
    setCursors(next);
  };
  const toggle = (id) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const replay = async () => {
    const done = await act("POST", `/dead-letters/${part(group)}/replay`, { ids: [...chosen], to });
    if (done) {
      setResults(done.results);
      setChosen(new Set());
      say(`${t("Sent again")}: ${done.results.filter((one) => one.newId).length} / ${done.results.length}`);
    }
  };
  const all = () => setChosen(chosen.size === told.rows.length ? new Set() : new Set(told.rows.map((row) => row.id)));
  const columns = [
    { title: t("Choose"), value: (row) => html`<input type="checkbox" aria-label=${`${t("Choose")} ${row.id}`} checked=${chosen.has(row.id)} onChange=${() => toggle(row.id)} />` },
    ...messageColumns(),
  ];
  return html`<${Title}>${t("Dead letters")}: ${group}<//>
    <div class="bar">
      <a class="button" href=${link(["groups", group])}>${t("Group")}</a>
      ${can(session, "operator") && html`
        <label>${t("Send again to")}<select value=${to} onChange=${(event) => setTo(event.target.value)}>
          <option value="topic">${t("original topic (all groups)")}</option><option value="group">${t("this group only")}</option></select></label>
        <button type="button" onClick=${all}>${t("Choose all")}</button>
        <button type="button" class="main" disabled=${!chosen.size} onClick=${replay}>${t("Send again")} (${chosen.size})</button>`}
      <${Export} path="/messages/export" params=${{ ...page, cursor: told.start }} count=${told.rows.length} name=${`${group}-dead-letters`} />
    </div>
    <${Table} caption=${t("Newest first")} columns=${columns} rows=${told.rows} keyOf=${(row) => row.id} />
    <div class="bar">
      <button type="button" disabled=${!cursors.length} onClick=${() => turn(cursors.slice(0, -1))}>${t("Previous")}</button>
      <button type="button" disabled=${!told.cursor} onClick=${() => turn([...cursors, told.cursor])}>${t("Next")}</button>
    </div>
    ${results && html`<h2>${t("Results")}</h2><${Table} caption=${t("Each is a new message; the dead letter stays")} rows=${results} keyOf=${(row) => row.id} columns=${[
      { title: t("Dead letter"), value: (row) => row.id },
      { title: t("New message"), value: (row) => (row.newId ? html`<a href=${link(["messages", row.newId])}>${row.newId}</a>` : html`<span class="bad">${row.error}</span>`) },
      { title: t("Topic"), value: (row) => row.topic ?? "" },
    ]} />`}`;
}

export function DeadLetters({ address, session }) {
  if (address.parts.length > 1) {
    if (!can(session, "reader")) return html`<${Title}>${t("Dead letters")}<//><p>${t("Your role does not read messages")}</p>`;
    return html`<${OfGroup} group=${address.parts[1]} session=${session} />`;
  }
  return html`<${Title}>${t("Dead letters")}<//>
    <${List} address=${address} path="/dead-letters" caption=${t("Groups with dead letters")} empty=${t("No dead letters. They appear here when a message has failed all its delivery attempts.")} keyOf=${(row) => row.group} columns=${[
      { title: t("Group"), sort: "name", value: (row) => html`<a href=${link(["dead-letters", row.group])}>${row.group}</a>` },
      { title: t("Messages"), isNumber: true, sort: "messages", value: (row) => number(row.messages) },
      { title: t("Last message"), value: (row) => time(row.lastTimestamp) },
    ]} />`;
}
