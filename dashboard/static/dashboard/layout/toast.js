// What came of a click, said at the lower edge of the window and to screen readers. It takes no room in the page, and goes
// with the next click elsewhere.
const line = document.getElementById("open-status");

export const say = (sentence) => { line.textContent = sentence; };

document.addEventListener("click", (event) => {
  if (!event.target.closest("[aria-describedby=open-status], #open-status")) line.textContent = "";
}, { capture: true });
