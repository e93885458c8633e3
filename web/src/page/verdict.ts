import { element } from "../dom";
import type { Advice, PageDocument } from "../document";
import { digits, duration } from "../format";

const TOPICS: Record<string, string> = {
  workers: "Workers",
  device: "Device",
  limit: "What limits",
  memory: "Memory",
  quality: "Quality",
  missing: "Not known",
};

function figure(name: string, value: string, below: string): HTMLElement {
  return element(
    "div",
    { class: "figure" },
    element("dt", {}, name),
    element("dd", {}, element("strong", {}, value), below ? element("span", {}, below) : null),
  );
}

function adviceFigures(advice: Advice, several: boolean): HTMLElement {
  const interval =
    advice.origin === "predicted" ? `${duration(advice.time_low_s)} to ${duration(advice.time_high_s)}` : advice.time;
  return element(
    "div",
    { class: "advice" },
    several ? element("h3", {}, advice.job) : null,
    element(
      "dl",
      { class: "figures" },
      figure("workers", digits(advice.workers), advice.series),
      figure(`time, ${advice.origin}`, duration(advice.time_s), interval),
      figure(advice.cost_means, digits(Number(advice.cost.toPrecision(3))), "least time × cost"),
    ),
  );
}

/** The answer before anything else: in words, with the figures it stands on. */
export function verdictSection(page: PageDocument): HTMLElement {
  const topics = new Map<string, string[]>();
  for (const finding of page.findings) {
    topics.set(finding.topic, [...(topics.get(finding.topic) ?? []), finding.sentence]);
  }
  const list = element("dl", { class: "findings" });
  for (const [topic, sentences] of topics) {
    list.append(
      element("dt", { class: `topic ${topic}` }, TOPICS[topic] ?? topic),
      ...sentences.map((sentence) => element("dd", {}, sentence)),
    );
  }
  return element(
    "section",
    { id: "verdict", class: "view verdict", "aria-labelledby": "verdict-heading", tabindex: "-1" },
    element("h2", { id: "verdict-heading" }, element("a", { href: "#verdict", class: "anchor" }, "Verdict")),
    page.headline ? element("p", { class: "headline" }, page.headline) : null,
    page.advice.length > 0
      ? element("div", { class: "advices" }, ...page.advice.map((advice) => adviceFigures(advice, page.advice.length > 1)))
      : null,
    list,
    page.findings.length > 0 ? element("p", { class: "note" }, page.rule) : null,
    ...page.notices.map((notice) => element("p", { class: "note" }, notice)),
  );
}
