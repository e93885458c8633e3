import { element } from "../dom";
import type { PageDocument } from "../document";
import { Choices } from "./figure";
import { navigation, followScroll } from "./navigation";
import { verdictSection } from "./verdict";
import { viewSection } from "./view";

function footer(page: PageDocument): HTMLElement {
  const facts = element("dl", { class: "facts" });
  for (const [name, value] of page.facts) facts.append(element("dt", {}, name), element("dd", {}, value));
  return element(
    "footer",
    {},
    facts,
    element("p", { class: "note" }, `Made by lockstep ${page.lockstep} at ${page.made.replace("T", " ").slice(0, 19)} UTC.`),
  );
}

/** The whole page of a document: what `lockstep report --html` shows and a study of `lockstep serve`. */
export function pageBody(page: PageDocument, choices = new Choices()): HTMLElement {
  const nav = navigation(page);
  const sections = [verdictSection(page), ...page.views.map((view) => viewSection(view, choices))];
  followScroll(nav, sections);
  return element("div", { class: "layout" }, nav, element("main", { id: "main" }, ...sections, footer(page)));
}
