// Paper has what the page has. Parts that wait until they are seen are fetched before printing: by the browser's menu they
// may come too late, and the paper says so; by its keys the page is printed once they are there.
const WAITING = ".part-wait, .skeleton, .skeleton-card";
const MAX_WAIT_MS = 20_000; // then the paper says what is missing

const isWaiting = (part) => [...part.children].some((child) => child.matches(WAITING));
const partsThatWait = () => [...document.querySelectorAll("[hx-get]")].filter(isWaiting);

function fetchUnseen() {
  for (const part of partsThatWait()) {
    const [trigger] = part.getAttribute("hx-trigger").match(/intersect|revealed/) ?? [];
    if (!trigger || part.matches("[aria-busy=true], [data-hx-revealed]")) continue;
    if (trigger === "revealed") part.setAttribute("data-hx-revealed", "true"); // as htmx does, so that it asks once
    window.htmx.trigger(part, trigger);
  }
}

async function printWhenReady() {
  fetchUnseen();
  const end = performance.now() + MAX_WAIT_MS;
  // A part may bring others.
  while (document.querySelector("[aria-busy=true]") && performance.now() < end) {
    await new Promise((resolve) => { setTimeout(resolve, 50); });
    fetchUnseen();
  }
  window.print();
}

window.addEventListener("beforeprint", fetchUnseen);
document.addEventListener("keydown", (event) => {
  const isPrint = event.key.toLowerCase() === "p" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
  if (!isPrint || event.repeat || !partsThatWait().length) return;
  event.preventDefault();
  printWhenReady();
});
