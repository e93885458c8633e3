import { announce, element } from "../dom";
import type { PageDocument } from "../document";
import { toggleTheme } from "../theme";
import { isEmpty } from "./view";

export function navigation(page: PageDocument): HTMLElement {
  const list = element("ul", {});
  const entry = (id: string, title: string, empty: boolean): HTMLElement =>
    element("li", {}, element("a", { href: `#${id}`, class: empty ? "empty" : undefined }, title));
  list.append(entry("verdict", "Verdict", false));
  for (const view of page.views) list.append(entry(view.id, view.title, isEmpty(view)));
  return element("nav", { "aria-label": "Views" }, list);
}

/** Marks the view that is being read: the last that began above the upper third of the window. */
export function followScroll(nav: HTMLElement, sections: HTMLElement[]): void {
  let waiting = false;
  let marked = "";
  const mark = (): void => {
    waiting = false;
    if (!nav.isConnected) return window.removeEventListener("scroll", soon);
    const read = sections.filter((section) => section.getBoundingClientRect().top < window.innerHeight / 3);
    const here = (read[read.length - 1] ?? sections[0])?.id ?? "";
    if (here === marked) return;
    marked = here;
    for (const link of nav.querySelectorAll("a")) {
      if (link.getAttribute("href") === `#${here}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const soon = (): void => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(mark);
  };
  window.addEventListener("scroll", soon, { passive: true });
  soon();
}

/** Goes to the view or chart that the address names, choosing it first where charts take turns. */
export function followAddress(smooth: boolean): void {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id) return;
  if (!document.getElementById(id)) {
    for (const box of document.querySelectorAll<HTMLElement>(".family")) {
      if (box.dataset["charts"]?.split(" ").includes(id)) {
        box.dispatchEvent(new CustomEvent("choose-chart", { detail: id }));
      }
    }
  }
  document.getElementById(id)?.scrollIntoView({ behavior: smooth ? "smooth" : "auto", block: "start" });
}

const HELP = "Keys: j and k go to the next and previous view, t changes the theme, ? shows this help.";

function step(by: number): void {
  const sections = [...document.querySelectorAll<HTMLElement>("section.view")];
  const focused = document.activeElement?.closest<HTMLElement>("section.view");
  const here = focused ? sections.indexOf(focused) : sections.findIndex((section) => section.getBoundingClientRect().bottom > 80);
  const next = sections[Math.min(sections.length - 1, Math.max(0, here + by))];
  if (!next) return;
  next.scrollIntoView({ block: "start", behavior: "instant" });
  next.focus({ preventScroll: true });
  history.replaceState(null, "", `#${next.id}`);
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "t") toggleTheme();
    else if (event.key === "?") {
      const help = document.getElementById("help");
      if (help) help.hidden = !help.hidden;
      announce(HELP);
    }
  });
}

export function helpText(): HTMLElement {
  return element("p", { id: "help", class: "help", hidden: true }, HELP);
}
