import { readDocument } from "./document";
import { element } from "./dom";
import { startLive } from "./live/app";
import { followAddress } from "./page/navigation";
import { pageBody } from "./page/page";
import { shell } from "./shell";

function startReport(text: string): void {
  const page = readDocument(text);
  const content = shell(page.title, `Report of ${page.made.slice(0, 10)}`);
  content.append(pageBody(page));
  followAddress(false);
  window.addEventListener("hashchange", () => followAddress(true));
}

function start(): void {
  const data = document.getElementById("page-data")?.textContent;
  try {
    if (data) {
      startReport(data);
    } else {
      startLive();
    }
  } catch (problem) {
    document.getElementById("app")?.replaceChildren(
      element("p", { class: "missing", role: "alert" }, `This page cannot be shown: ${(problem as Error).message}`),
    );
  }
  document.documentElement.setAttribute("data-ready", "yes");
}

start();
