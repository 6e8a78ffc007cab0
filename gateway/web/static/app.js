// The console: who is logged in, where one is, and the page that is there.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask, go, link, refresh, setSession, useAddress } from "./api.js";
import { Dialog, Form } from "./forms.js";
import { language, setLanguage, t } from "./i18n.js";
import { Palette } from "./palette.js";
import { REFRESHES, chooseRefresh, chosenRefresh } from "./preferences.js";
import { Title, Toast, Trouble, can, html } from "./widgets.js";
import { Access } from "./pages/access.js";
import { Audit } from "./pages/audit.js";
import { Cluster } from "./pages/cluster.js";
import { Connections } from "./pages/connections.js";
import { DeadLetters } from "./pages/dead-letters.js";
import { Delayed, Transactions } from "./pages/delayed.js";
import { Group, Groups } from "./pages/groups.js";
import { Message, Messages } from "./pages/messages.js";
import { Overview } from "./pages/overview.js";
import { LiteParent, Lites, Pops } from "./pages/pops.js";
import { Settings } from "./pages/settings.js";
import { Store } from "./pages/store.js";
import { Topic, Topics } from "./pages/topics.js";

// [address, title, role, key after g, list, one]
const PAGES = [
  ["overview", "Overview", "viewer", "o", Overview],
  ["topics", "Topics", "viewer", "t", Topics, Topic],
  ["groups", "Groups", "viewer", "g", Groups, Group],
  ["messages", "Messages", "reader", "m", Messages, Message],
  ["dead-letters", "Dead letters", "viewer", "d", DeadLetters, DeadLetters],
  ["delayed", "Delayed", "viewer", "l", Delayed],
  ["transactions", "Transactions", "viewer", "x", Transactions],
  ["pops", "POP", "viewer", "p", Pops],
  ["lites", "Lite topics", "viewer", "i", Lites, LiteParent],
  ["connections", "Connections", "viewer", "n", Connections],
  ["cluster", "Cluster", "viewer", "c", Cluster],
  ["store", "Store", "viewer", "b", Store],
  ["settings", "Settings", "viewer", "s", Settings],
  ["access", "Access", "admin", "a", Access],
  ["audit", "Audit", "operator", "u", Audit],
];

function Login({ session, refusal, done }) {
  const send = async (values) => {
    await ask("POST", "/session", values);
    done();
  };
  const open = ({ token }) => send({ token: token.trim().split("token=").pop() }); // the whole link will do
  if (session.login === "link") {
    return html`<main class="login"><${Title}>mqgateway<//>
      <p>${t("Open the link that the broker printed when it started; it works once. Its log has the next one.")}</p>
      <${Trouble} error=${refusal} />
      <${Form} fields=${[{ name: "token", label: t("Link, or its token"), isRequired: true }]} send=${open} button=${t("Open")} />
    </main>`;
  }
  const fields = [
    { name: "user", label: t("User"), isRequired: true, autocomplete: "username" },
    { name: "password", label: t("Password"), type: "password", isRequired: true, autocomplete: "current-password" },
  ];
  return html`<main class="login"><${Title}>mqgateway<//><${Form} fields=${fields} send=${send} button=${t("Log in")} /></main>`;
}

function Keys({ close }) {
  const rows = [["Ctrl K", t("Go to")], ["/", t("Search")], ["?", t("Show the shortcuts")], ["r", t("Refresh")], ...PAGES.map(([, title, , key]) => [`g ${key}`, t(title)])];
  return html`<${Dialog} title=${t("Shortcuts")} close=${close}>
    <table><thead><tr><th scope="col">${t("Shortcuts")}</th><th scope="col">${t("Effect")}</th></tr></thead>
    <tbody>${rows.map(([key, text]) => html`<tr><td><kbd>${key}</kbd></td><td>${text}</td></tr>`)}</tbody></table>
    <div class="bar"><button type="button" onClick=${close}>${t("Close")}</button></div>
  <//>`;
}

function useKeys(show, find) {
  useEffect(() => {
    let before = "";
    const pressed = (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "k") {
        event.preventDefault();
        find();
      }
      if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
      const page = before === "g" && PAGES.find(([, , , key]) => key === event.key);
      if (page) go([page[0]]);
      else if (event.key === "?") show();
      else if (event.key === "/" && document.getElementById("search")) {
        event.preventDefault();
        document.getElementById("search").focus();
      } else if (event.key === "r") refresh();
      before = event.key;
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function theme(next) {
  const stored = localStorage.getItem("theme");
  const isDark = stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const chosen = next ? (isDark ? "light" : "dark") : isDark ? "dark" : "light";
  if (next) localStorage.setItem("theme", chosen);
  document.documentElement.dataset.theme = chosen;
}

function Frame({ session, leave, changed }) {
  const address = useAddress();
  const [hasKeys, setKeys] = useState(false);
  const [hasPalette, setPalette] = useState(false);
  useKeys(() => setKeys(true), () => setPalette(true));
  const [name = "overview", one] = address.parts;
  const page = PAGES.find(([of]) => of === name);
  const shown = PAGES.filter(([, , role]) => can({ ...session, isReadOnly: false }, role));
  const Page = page && (one !== undefined ? page[5] : page[4]);
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector("h1")?.focus(); }}>${t("To the page")}</a>
    <header>
      <span class="title">mqgateway</span><span>${session.broker}</span>
      ${session.isReadOnly && html`<span class="tag">${t("read only")}</span>`}
      <span class="space"></span>
      <span class="faint">${session.user} ${session.role}</span>
      <button type="button" onClick=${() => setPalette(true)}>${t("Go to")}</button>
      <select aria-label=${t("Time between refreshes")} value=${chosenRefresh()} onChange=${(event) => { chooseRefresh(event.target.value); changed(); }}>
        <option value="">${t("Refresh: each page's own")}</option>
        ${REFRESHES.map((seconds) => html`<option value=${seconds}>${seconds ? `${t("Refresh")}: ${seconds} s` : t("Refresh: off")}</option>`)}
      </select>
      <button type="button" onClick=${() => { setLanguage(language() === "zh" ? "en" : "zh"); changed(); }}>${language() === "zh" ? "English" : "中文"}</button>
      <button type="button" onClick=${() => { theme(true); changed(); }}>${t("Theme")}</button>
      <button type="button" onClick=${() => setKeys(true)}>${t("Shortcuts")}</button>
      <button type="button" onClick=${leave}>${t("Log out")}</button>
    </header>
    <nav aria-label=${t("Pages")}><ul>
      ${shown.map(([of, title]) => html`<li><a href=${link([of])} aria-current=${of === name ? "page" : undefined}>${t(title)}</a></li>`)}
    </ul></nav>
    <main id="main">
      ${Page ? html`<${Page} key=${address.parts.join("/")} address=${address} session=${session} />` : html`<${Title}>${t("There is no such page")}<//>`}
    </main>
    ${hasKeys && html`<${Keys} close=${() => setKeys(false)} />`}
    ${hasPalette && html`<${Palette} pages=${shown.map(([of, title]) => [of, t(title)])} close=${() => setPalette(false)} />`}
    <${Toast} />
  </div>`;
}

function App() {
  const [session, setTold] = useState(null);
  const [error, setError] = useState(null);
  const [refusal, setRefusal] = useState(null);
  const [, setRound] = useState(0);
  const look = async () => {
    let refused = null;
    try {
      const token = new URLSearchParams(location.hash.slice(1)).get("token");
      if (token) {
        history.replaceState(null, "", "#/");
        const now = await ask("GET", "/session");
        if (!now.isIn) await ask("POST", "/session", { token }).catch((failure) => { refused = failure; });
      }
      const told = await ask("GET", "/session");
      setSession(told.csrf, look);
      setTold(told);
      setRefusal(refused);
      setError(null);
    } catch (failure) {
      setError(failure);
    }
  };
  useEffect(() => {
    look();
  }, []);
  if (error) return html`<main class="login"><${Trouble} error=${error} /><button type="button" onClick=${look}>${t("Try again")}</button></main>`;
  if (!session) return null;
  const leave = async () => {
    await ask("DELETE", "/session");
    look();
  };
  if (!session.isIn) return html`<${Login} session=${session} refusal=${refusal} done=${look} /><${Toast} />`;
  return html`<${Frame} session=${session} leave=${leave} changed=${() => setRound((round) => round + 1)} />`;
}

theme(false);
setLanguage(language());
render(html`<${App} />`, document.getElementById("app"));
