import { element } from "../dom";
import type { Advice, PageDocument } from "../document";

function figure(name: string, value: string, below: string): HTMLElement {
  return element(
    "div",
    { class: "figure" },
    element("dt", {}, name),
    element("dd", {}, element("strong", {}, value), below ? element("span", {}, below) : null),
  );
}

function adviceFigures(advice: Advice, several: boolean): HTMLElement {
  return element(
    "div",
    { class: "advice" },
    several ? element("h3", {}, advice.job) : null,
    element("p", { class: "headline" }, advice.sentence),
    element(
      "dl",
      { class: "figures" },
      figure("workers", String(advice.workers), advice.series),
      figure(`time, ${advice.origin}`, advice.time_text, advice.origin === "predicted" || advice.origin === "simulated" ? `${advice.interval_text} for ${advice.time}` : advice.time),
      figure(advice.cost_means, advice.cost_text, "workers × time"),
      advice.quality_means ? figure(advice.quality_means, advice.quality_text, "of the last epoch") : null,
    ),
  );
}

/** A page of hundreds of series must not begin with all of their verdicts. */
const MANY = 6;

/** The first few, and the others behind a summary that counts them. */
function firstFew<T>(all: T[], made: (one: T) => HTMLElement): HTMLElement[] {
  if (all.length <= MANY) return all.map(made);
  const others = all.slice(MANY - 1);
  return [
    ...all.slice(0, MANY - 1).map(made),
    element("details", { class: "more" }, element("summary", {}, `${others.length} more`), ...others.map(made)),
  ];
}

function topicList(topic: string, sentences: string[]): HTMLElement[] {
  const shown = firstFew(sentences, (sentence) => element("p", {}, sentence));
  return [element("dt", { class: `topic ${topic}` }, topic), ...shown.map((one) => element("dd", {}, one))];
}

/** The answer before anything else: in words, with the figures it stands on. */
export function verdictSection(page: PageDocument): HTMLElement {
  const topics = new Map<string, string[]>();
  for (const finding of page.findings) {
    topics.set(finding.topic, [...(topics.get(finding.topic) ?? []), finding.sentence]);
  }
  const list = element("dl", { class: "findings" });
  for (const [topic, sentences] of topics) list.append(...topicList(topic, sentences));
  return element(
    "section",
    { id: "verdict", class: "view verdict", "aria-labelledby": "verdict-heading", tabindex: "-1" },
    element("h2", { id: "verdict-heading" }, element("a", { href: "#verdict", class: "anchor" }, "Verdict")),
    page.advice.length > 0
      ? element("div", { class: "advices" }, ...firstFew(page.advice, (advice) => adviceFigures(advice, page.advice.length > 1)))
      : page.headline ? element("p", { class: "headline" }, page.headline) : null,
    list,
    page.findings.length > 0 ? element("p", { class: "note" }, page.rule) : null,
    ...page.notices.map((notice) => element("p", { class: "note" }, notice)),
  );
}
