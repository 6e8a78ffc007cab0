// The palette: opens a page, a topic or a group by a few letters of its name.
import { useEffect, useState } from "preact/hooks";
import { ask, go, query } from "./api.js";
import { Dialog } from "./forms.js";
import { t } from "./i18n.js";
import { html } from "./widgets.js";

const FOUND_MAX = 8;
const WAIT_MILLIS = 150;

// Topics and groups whose names contain the text, as [kind, name, parts of the address].
async function named(search) {
  const path = query({ search, limit: FOUND_MAX });
  const [topics, groups] = await Promise.all([ask("GET", `/topics${path}`), ask("GET", `/groups${path}`)]);
  return [
    ...topics.rows.map((row) => [t("Topic"), row.topic, ["topics", row.topic]]),
    ...groups.rows.map((row) => [t("Group"), row.group, ["groups", row.group]]),
  ];
}

// `pages` are [address, title].
export function Palette({ pages, close }) {
  const [search, setSearch] = useState("");
  const [found, setFound] = useState([]);
  const [at, setAt] = useState(0);
  useEffect(() => {
    setAt(0);
    setFound([]);
    if (!search) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => named(search).then((rows) => isCurrent && setFound(rows), () => {}), WAIT_MILLIS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [search]);
  const fitting = pages.filter(([address, title]) => `${address} ${title}`.toLowerCase().includes(search.toLowerCase()));
  const rows = [...fitting.map(([address, title]) => [t("Page"), title, [address]]), ...found];
  const open = (row) => {
    close();
    if (row) go(row[2]);
  };
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && rows.length) setAt((at + step + rows.length) % rows.length);
    else if (event.key === "Enter") open(rows[at]);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} title=${t("Go to")} close=${close}>
    <label class="palette">${t("Page, topic or group")}<input type="search" role="combobox" aria-expanded=${rows.length > 0} aria-controls="palette-rows" aria-activedescendant=${rows.length ? `palette-${at}` : undefined} autocomplete="off" value=${search} onInput=${(event) => setSearch(event.target.value)} onKeyDown=${pressed} /></label>
    ${rows.length > 0 && html`<ul id="palette-rows" class="palette" role="listbox" aria-label=${t("Results")}>
      ${rows.map((row, index) => html`<li key=${row[2].join("/")} id=${`palette-${index}`} role="option" aria-selected=${index === at} onClick=${() => open(row)}><span class="faint">${row[0]}</span> ${row[1]}</li>`)}
    </ul>`}
    ${!rows.length && html`<p class="faint">${t("Nothing has this text in its name.")}</p>`}
  <//>`;
}
