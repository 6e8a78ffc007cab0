// The words of the pages: English as they are in the pages, Chinese from a table.
import { BROKER, ZH } from "./zh.js";

export const language = () => localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");

export function setLanguage(name) {
  localStorage.setItem("language", name);
  document.documentElement.lang = name;
}

// The locale of numbers and times: the browser's, if it is of the chosen language.
export const locale = () => (navigator.language.startsWith(language()) ? navigator.language : language() === "zh" ? "zh-CN" : "en-GB");

export const t = (text) => (language() === "zh" ? (ZH[text] ?? BROKER[text] ?? text) : text);
