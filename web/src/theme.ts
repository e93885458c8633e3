import { announce, element } from "./dom";

const KEY = "lockstep-theme";
type Theme = "auto" | "light" | "dark";
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto"; // storage may be denied, as for files in some browsers
  }
}

function apply(theme: Theme): void {
  if (theme === "auto") {
    document.documentElement.removeAttribute("data-theme");
  } else {
    document.documentElement.setAttribute("data-theme", theme);
  }
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // not kept, then
  }
}

let current: Theme = "auto";
let button: HTMLButtonElement | null = null;

export function toggleTheme(): void {
  current = NEXT[current];
  apply(current);
  if (button) button.textContent = `Theme: ${current}`;
  announce(`Theme ${current}`);
}

export function themeButton(): HTMLButtonElement {
  current = stored();
  apply(current);
  button = element(
    "button",
    { type: "button", class: "quiet", title: "Light, dark or system theme (t)", "data-action": "theme", click: toggleTheme },
    `Theme: ${current}`,
  );
  return button;
}
