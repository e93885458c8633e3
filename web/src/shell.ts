import { append, element } from "./dom";
import { helpText, listenToKeys } from "./page/navigation";
import { themeButton } from "./theme";

/** The frame around everything: skip link, header, and the region that speaks to screen readers. */
export function shell(title: string, subtitle: string, ...extra: Node[]): HTMLElement {
  const app = document.getElementById("app") ?? document.body;
  const content = element("div", { id: "content" });
  document.title = title ? `${title} – Lockstep` : "Lockstep";
  app.replaceChildren();
  append(
    app,
    element("a", { class: "skip", href: "#main" }, "Skip to content"),
    element(
      "header",
      { class: "top" },
      element("div", { class: "titles" }, element("p", { class: "brand" }, "Lockstep"), element("h1", {}, title), subtitle ? element("p", { class: "subtitle" }, subtitle) : null),
      element("div", { class: "actions" }, ...extra, themeButton()),
    ),
    helpText(),
    content,
    element("div", { id: "announcer", class: "offscreen", role: "status", "aria-live": "polite" }),
  );
  listenToKeys();
  return content;
}
