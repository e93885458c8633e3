import { element } from "../dom";

/** What a drawing needs to know of its place. */
export interface Place {
  width: number;
  narrow: boolean;
}

const NARROW = 560;

/** About the text width of A4 and of letter paper, in CSS pixels. */
const PAPER_WIDTH = 680;

function tellPlots(event: string): void {
  for (const box of document.querySelectorAll(".plot")) box.dispatchEvent(new Event(event));
}

/** What is printed was perhaps never on the screen, and a page is narrower: drawn for it, texts stay readable. */
window.addEventListener("beforeprint", () => tellPlots("draw-for-paper"));
window.addEventListener("afterprint", () => tellPlots("draw-for-screen"));

/** A chart that can be drawn at any width, and how high it will be there. */
export interface Drawing {
  height: (place: Place) => number;
  draw: (place: Place) => Element;
}

/**
 * A box that draws its chart at its own width, and again when that changes. Drawing waits until the
 * box comes near the screen, so that a page of many charts opens at once; until then the box keeps
 * the chart's room, so that nothing moves under a reader or away from a link.
 */
export function framed(drawing: Drawing, title: string): { box: HTMLElement; redraw: () => void } {
  const box = element("div", { class: "plot", role: "img", "aria-label": title, tabindex: "0" });
  let drawn = 0;
  let visible = false;
  const paint = (width = Math.floor(box.clientWidth)): void => {
    if (width === 0) return;
    const place = { width, narrow: width < NARROW };
    box.style.minHeight = `${drawing.height(place)}px`;
    if (!visible) return;
    drawn = width;
    const chart = drawing.draw(place);
    // The box has the name of the chart, and its values are in the table below.
    chart.setAttribute("aria-hidden", "true");
    box.replaceChildren(chart);
    box.setAttribute("data-drawn", "yes");
  };
  new ResizeObserver(() => {
    if (Math.floor(box.clientWidth) !== drawn) paint();
  }).observe(box);
  const near = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      visible = true;
      paint();
    },
    { rootMargin: "600px" },
  );
  near.observe(box);
  box.addEventListener("draw-for-paper", () => {
    visible = true;
    paint(PAPER_WIDTH);
  });
  box.addEventListener("draw-for-screen", () => paint());
  return { box, redraw: () => paint() };
}

export interface Swatch {
  name: string;
  colour: string;
  /** class of the chip */
  mark: string;
  /** symbol of the points, where they have one */
  glyph?: string;
}

function chip(swatch: Swatch): HTMLElement {
  const made = element("span", { class: swatch.glyph ? "swatch glyph" : `swatch ${swatch.mark}`, "aria-hidden": "true" }, swatch.glyph ?? null);
  made.style.setProperty("--swatch", swatch.colour);
  return made;
}

/** Names beside their colours; each is a button that hides and shows what it names. `keys` explain. */
export function legend(swatches: Swatch[], keys: Swatch[], hidden: Set<string>, changed: () => void): HTMLElement {
  const list = element("ul", { class: "legend", "aria-label": "Legend" });
  for (const swatch of swatches) {
    const button = element(
      "button",
      {
        type: "button",
        "aria-pressed": hidden.has(swatch.name) ? "false" : "true",
        title: `Show or hide ${swatch.name}`,
        click: () => {
          if (!hidden.delete(swatch.name)) hidden.add(swatch.name);
          button.setAttribute("aria-pressed", hidden.has(swatch.name) ? "false" : "true");
          changed();
        },
      },
      chip(swatch),
      swatch.name,
    );
    list.append(element("li", {}, button));
  }
  for (const key of keys) list.append(element("li", { class: "key" }, chip(key), key.name));
  return list;
}
