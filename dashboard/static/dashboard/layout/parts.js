// Parts of pages that htmx fetches. A part that fails shows an error and a button to try again. Screen readers announce
// parts that are ready.
const said = document.querySelector("#parts-said");

const words = (status) => {
  if (status === 0) return "The server did not answer.";
  if (status >= 500) return "The server failed. Its log says why.";
  return `The server answered with status ${status}.`;
};

const fail = (event, status) => {
  const part = event.detail.target ?? event.detail.elt; // a link may have requested it
  part.removeAttribute("aria-busy");
  const line = document.createElement("p");
  line.className = "problem part-problem";
  line.setAttribute("role", "alert");
  line.append(`This part could not be loaded. ${words(status)} `);
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Try again";
  again.addEventListener("click", () => {
    line.remove();
    part.setAttribute("aria-busy", "true");
    window.htmx.trigger(part, "again");
  });
  line.append(again);
  part.querySelector(":scope > .part-problem")?.remove();
  part.append(line);
};

// A part that loads when it is scrolled to is busy from then on.
document.body.addEventListener("htmx:beforeRequest", (event) => event.detail.target.setAttribute("aria-busy", "true"));
document.body.addEventListener("htmx:responseError", (event) => fail(event, event.detail.xhr.status));
document.body.addEventListener("htmx:sendError", (event) => fail(event, 0));
document.body.addEventListener("htmx:timeout", (event) => fail(event, 0));
document.body.addEventListener("htmx:afterSwap", (event) => {
  const part = event.detail.target;
  part.removeAttribute("aria-busy");
  if (said && part.dataset.said) said.textContent = part.dataset.said;
});
