import { barChart } from "../charts/bars";
import { lineChart } from "../charts/lines";
import { spanChart } from "../charts/spans";
import { element } from "../dom";
import type { Chart } from "../document";
import { foldedTable } from "./table";

/** What the reader has chosen; outlives a new drawing of a live page. */
export class Choices {
  private readonly chosen = new Map<string, string>();
  private readonly hidden = new Map<string, Set<string>>();

  chosenIn(family: string): string | undefined {
    return this.chosen.get(family);
  }
  choose(family: string, chart: string): void {
    this.chosen.set(family, chart);
  }
  hiddenIn(chart: string): Set<string> {
    let names = this.hidden.get(chart);
    if (!names) {
      names = new Set();
      this.hidden.set(chart, names);
    }
    return names;
  }
}

function drawing(chart: Chart, choices: Choices): HTMLElement {
  const hidden = choices.hiddenIn(chart.id);
  switch (chart.kind) {
    case "lines":
      return lineChart(chart, hidden);
    case "bars":
      return barChart(chart, hidden);
    case "spans":
      return spanChart(chart, hidden);
  }
}

function figure(chart: Chart, choices: Choices): HTMLElement {
  return element(
    "figure",
    { id: chart.id, "aria-labelledby": `${chart.id}-title` },
    element(
      "h3",
      { id: `${chart.id}-title` },
      element("a", { href: `#${chart.id}`, class: "anchor", title: "Link to this chart" }, chart.title),
    ),
    drawing(chart, choices),
    element("figcaption", {}, chart.caption),
    ...chart.tables.map((table) => foldedTable(table, false)),
  );
}

/** Charts of one family take turns in one place; a list chooses among them. */
export function figures(charts: Chart[], choices: Choices): HTMLElement {
  const first = charts[0];
  if (!first) return element("div");
  if (charts.length === 1) return figure(first, choices);
  const place = element("div");
  const select = element("select", { id: `choose-${first.family}`, "data-family": first.family });
  for (const chart of charts) select.append(element("option", { value: chart.id }, chart.choice || chart.title));
  const show = (id: string): void => {
    const chart = charts.find((one) => one.id === id) ?? first;
    select.value = chart.id;
    place.replaceChildren(figure(chart, choices));
  };
  select.addEventListener("change", () => {
    choices.choose(first.family, select.value);
    show(select.value);
    // What is looked at can be sent around.
    history.replaceState(null, "", `#${select.value}`);
  });
  show(choices.chosenIn(first.family) ?? first.id);
  const box = element(
    "div",
    { class: "family", "data-charts": charts.map((chart) => chart.id).join(" ") },
    element("div", { class: "chooser" }, element("label", { for: `choose-${first.family}` }, "Show"), select),
    place,
  );
  box.addEventListener("choose-chart", (event) => {
    const id = (event as CustomEvent<string>).detail;
    choices.choose(first.family, id);
    show(id);
  });
  return box;
}
