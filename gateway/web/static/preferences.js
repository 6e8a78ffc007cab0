// What a reader has chosen in this browser: how often pages ask again, sort and columns of each list.

const REFRESH = "refresh-seconds";
export const REFRESHES = [0, 5, 10, 30, 60];

const stored = (name) => {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
};

// Seconds between two requests of a page that asks again; 0 for never. Pages have their own until one is chosen.
export const refreshSeconds = (own) => (own ? (stored(REFRESH) ?? own) : 0);
export const chosenRefresh = () => stored(REFRESH) ?? "";

export function chooseRefresh(seconds) {
  if (seconds === "") localStorage.removeItem(REFRESH);
  else localStorage.setItem(REFRESH, JSON.stringify(Number(seconds)));
}

// The chosen order of a list: {sort, descending}, empty if none was chosen.
export const orderOf = (list) => stored(`order ${list}`) ?? {};
export const keepOrder = (list, order) => localStorage.setItem(`order ${list}`, JSON.stringify(order));

// Numbers of the columns of a list that are hidden.
export const hiddenOf = (list) => stored(`hidden ${list}`) ?? [];
export const keepHidden = (list, hidden) => localStorage.setItem(`hidden ${list}`, JSON.stringify(hidden));
