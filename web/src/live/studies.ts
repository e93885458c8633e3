import { element, replace } from "../dom";
import type { Feed } from "./feed";

/** The studies of the store, newest first, each a link to its page. */
export function studiesPanel(feed: Feed): HTMLElement {
  const list = element("ul", { class: "studies" });
  const panel = element("section", { id: "studies", class: "panel view", tabindex: "-1" }, element("h2", {}, "Studies"), list);
  const show = (): void => {
    const entries = feed.studies.map((study) =>
      element(
        "li",
        {},
        element("a", { href: `/?study=${encodeURIComponent(study.name)}` }, study.name),
        element("span", { class: "status" }, ` ${study.done} of ${study.runs} ${study.runs === 1 ? "run" : "runs"} done`),
      ),
    );
    const all = element("li", {}, element("a", { href: "/?all=1" }, "All finished runs of the store"));
    replace(list, ...entries, feed.runs.size > 0 ? all : element("li", { class: "missing" }, "None yet."));
  };
  feed.onChange(show);
  show();
  return panel;
}
