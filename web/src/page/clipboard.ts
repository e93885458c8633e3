import { announce } from "../dom";

/** Puts text on the clipboard; pages from disk and older browsers have only the second way. */
export async function copyText(text: string, button: HTMLElement): Promise<void> {
  const label = button.textContent ?? "";
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "offscreen";
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  button.textContent = done ? "Copied" : "Not allowed";
  announce(done ? `${label}: copied` : "The browser does not allow copying");
  setTimeout(() => {
    button.textContent = label;
  }, 1500);
}
