import { element } from "../dom";

/** What a drawing needs to know of its place. */
export interface Place {
  width: number;
  narrow: boolean;
}

const NARROW = 560;

/**
 * A box that draws its chart at its own width, and again when that changes. Drawing waits until the
 * box comes near the screen, so that a page of many charts opens at once.
 */
export function framed(draw: (place: Place) => Element, title: string): { box: HTMLElement; redraw: () => void } {
  const box = element("div", { class: "plot", role: "img", "aria-label": title, tabindex: "0" });
  let drawn = 0;
  let visible = false;
  const paint = (): void => {
    const width = Math.floor(box.clientWidth);
    if (!visible || width === 0) return;
    drawn = width;
    box.replaceChildren(draw({ width, narrow: width < NARROW }));
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
  window.addEventListener("beforeprint", () => {
    visible = true;
    paint();
  });
  return { box, redraw: paint };
}

export interface Swatch {
  name: string;
  colour: string;
  mark: "line" | "box";
}

/** Names beside their colours; each is a button that hides and shows what it names. */
export function legend(swatches: Swatch[], hidden: Set<string>, changed: () => void): HTMLElement {
  const list = element("ul", { class: "legend", "aria-label": "Legend" });
  for (const swatch of swatches) {
    const chip = element("span", { class: `swatch ${swatch.mark}`, "aria-hidden": "true" });
    chip.style.setProperty("--swatch", swatch.colour);
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
      chip,
      swatch.name,
    );
    list.append(element("li", {}, button));
  }
  return list;
}
