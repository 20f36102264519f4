// Times of rows that came by themselves, in the reader's zone as the rest of the page has them.
const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

document.body.addEventListener("htmx:afterSwap", (event) => {
  for (const time of event.detail.target.querySelectorAll("time[data-local]")) {
    time.title ||= `${time.textContent.trim()} UTC`;
    time.textContent = zone.format(new Date(time.dateTime));
  }
});
