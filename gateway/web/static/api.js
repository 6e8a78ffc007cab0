// Asking the API; the address of what is shown; what goes on, as it happens.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { refreshSeconds } from "./preferences.js";

const BASE = "api/v1";
let csrf = "";
let onGone = () => {};

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function setSession(token, gone) {
  csrf = token;
  onGone = gone;
}

export function query(params) {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return given.length ? "?" + new URLSearchParams(given) : "";
}

export const part = encodeURIComponent;

export async function ask(method, path, body) {
  const options = { method, credentials: "same-origin", headers: {} };
  if (method !== "GET") {
    options.headers = { "Content-Type": "application/json", "x-console-token": csrf };
    if (method !== "DELETE") options.body = JSON.stringify(body ?? {});
  }
  return (await answered(path, options)).json();
}

// The content of a file of the API.
export const file = async (path) => {
  const response = await answered(path, { credentials: "same-origin" });
  return response.blob().catch(() => {
    throw new Refused(0, "the download ended early");
  });
};

// A response that is no refusal.
async function answered(path, options) {
  let response;
  try {
    response = await fetch(BASE + path, options);
  } catch {
    throw new Refused(0, "the broker does not answer");
  }
  if (response.ok) return response;
  const text = await response.text();
  let reason = text || response.statusText;
  try {
    reason = JSON.parse(text).error ?? String(response.status);
  } catch {
    // It is the text itself: a proxy refused it.
  }
  if (response.status === 401 && path !== "/session") onGone();
  throw new Refused(response.status, reason);
}

const NAMES_MAX = 20;

// Names of topics that begin with a text, and of groups and users that contain one: `complete` of a field.
export const topicNames = (prefix) => ask("GET", `/topics${query({ prefix, kind: "all", limit: NAMES_MAX })}`).then((told) => told.rows.map((row) => row.topic));
export const groupNames = (search) => ask("GET", `/groups${query({ search, limit: NAMES_MAX })}`).then((told) => told.rows.map((row) => row.group));
export const userNames = (search) => ask("GET", `/users${query({ search, limit: NAMES_MAX })}`).then((told) => told.rows.map((row) => row.user));

const REFRESH = "refresh";

// Ask again for all that is shown.
export const refresh = () => dispatchEvent(new Event(REFRESH));

// What a GET gives: {value, error, reload}; asked again when `path` changes, every so many seconds unless the
// reader has chosen another time, and by `refresh`.
export function useAsked(path, ownSeconds = 0) {
  const seconds = refreshSeconds(ownSeconds);
  const [state, setState] = useState({ value: null, error: null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    const look = () =>
      ask("GET", path).then(
        (value) => isCurrent && setState({ value, error: null }),
        (error) => isCurrent && setState((before) => ({ value: before.value, error })),
      );
    if (path) look();
    const timer = seconds && path ? setInterval(() => document.hidden || look(), seconds * 1000) : null;
    if (path) addEventListener(REFRESH, look);
    return () => {
      isCurrent = false;
      removeEventListener(REFRESH, look);
      if (timer) clearInterval(timer);
    };
  }, [path, seconds, round]);
  return { ...state, reload: () => setRound((before) => before + 1) };
}

// Events of a stream, told to `on` by their names.
export function useStream(path, on) {
  useEffect(() => {
    if (!path) return undefined;
    const source = new EventSource(BASE + path);
    for (const [name, tell] of Object.entries(on)) {
      source.addEventListener(name, (event) => tell(JSON.parse(event.data)));
    }
    source.addEventListener("end", () => source.close());
    return () => source.close();
  }, [path]);
}

// The address: #/topics/T?tab=x is {parts: ["topics", "T"], params: {tab: "x"}}.
function read() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    parts: path.split("/").filter(Boolean).map(decodeURIComponent),
    params: Object.fromEntries(new URLSearchParams(search)),
  };
}

export function useAddress() {
  const [address, setAddress] = useState(read);
  // A plain effect would listen only after the page is painted and miss a change before that.
  useLayoutEffect(() => {
    const changed = () => setAddress(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return address;
}

export const link = (parts, params = {}) => "#/" + parts.map(part).join("/") + query(params);

export function go(parts, params = {}, isReplaced = false) {
  if (isReplaced) {
    history.replaceState(null, "", link(parts, params));
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = link(parts, params);
  }
}
