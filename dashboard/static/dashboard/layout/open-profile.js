// Opens a profile in the Firefox Profiler or in Perfetto. The click opens a window of the viewer; once the viewer is ready, this page
// fetches the profile with its session and posts it to the window, only for the viewer's origin. A page can have several
// such buttons; parts of the page may add some later.

import { say } from "./toast.js";

const ASK_EVERY_MS = 250;
const DEADLINE_MS = 30_000;

// How each viewer is asked whether it listens, answers that, and is given a profile.
const FIREFOX = {
  address: ({ viewerOrigin, profileName, profileSearch }) => {
    const search = profileSearch ? `&search=${encodeURIComponent(profileSearch)}` : "";
    return `${viewerOrigin}/from-post-message/calltree/?profileName=${encodeURIComponent(profileName)}${search}`;
  },
  question: { name: "ready:request" },
  isReady: (data) => data?.name === "ready:response",
  message: (profile) => ({ name: "inject-profile", profile }),
};
const PERFETTO = {
  address: ({ viewerOrigin }) => viewerOrigin,
  question: "PING",
  isReady: (data) => data === "PONG",
  message: (buffer, { profileName }) => ({ perfetto: { buffer, title: profileName } }),
};

const BUTTONS = "button[data-viewer-origin]";
const showButtons = (host) => { for (const button of host.querySelectorAll(BUTTONS)) button.hidden = false; };

showButtons(document);
document.body.addEventListener("htmx:afterSwap", (event) => showButtons(event.detail.target));
document.addEventListener("click", (event) => {
  const button = event.target.closest(BUTTONS);
  if (button) openProfile(button);
});

async function openProfile(button) {
  const { viewerOrigin, profileUrl } = button.dataset;
  const contract = button.dataset.viewer === "perfetto" ? PERFETTO : FIREFOX;
  // Open it during the click: later, the browser would block it as a pop-up.
  const viewer = window.open(contract.address(button.dataset), "_blank");
  if (!viewer) {
    say("The browser blocked the new window. Allow pop-ups for this site and try again.");
    return;
  }
  button.disabled = true;
  say("Fetching the profile…");
  const waiting = new AbortController();
  try {
    const [profile] = await Promise.all([
      fetchProfile(profileUrl, waiting.signal),
      waitUntilListening(viewer, viewerOrigin, contract, waiting.signal),
    ]);
    viewer.postMessage(contract.message(profile, button.dataset), viewerOrigin, [profile]);
    say("Opened in a new window.");
  } catch (error) {
    say(error instanceof Problem ? error.message : "The profile could not be opened. See the browser’s console for details.");
    if (!(error instanceof Problem)) console.error(error);
  } finally {
    waiting.abort();
    button.disabled = false;
  }
}

class Problem extends Error {}

async function fetchProfile(url, signal) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", signal });
  } catch {
    throw new Problem("The server did not answer. Check the connection and try again.");
  }
  if (response.status === 401) throw new Problem("You are logged out. Reload this page and log in.");
  if (response.status === 404) throw new Problem("The project is gone, or you may no longer see it.");
  if (!response.ok) throw new Problem(`The server could not create the profile (status ${response.status}).`);
  try {
    return await response.arrayBuffer();
  } catch {
    throw new Problem("The profile is incomplete. Try again.");
  }
}

function waitUntilListening(viewer, origin, contract, signal) {
  return new Promise((resolve, reject) => {
    // This message has no content, so any origin may see it. Until the viewer is loaded, the window is blank.
    const asking = setInterval(() => {
      if (viewer.closed) reject(new Problem("The new window was closed before the profile was ready."));
      else viewer.postMessage(contract.question, "*");
    }, ASK_EVERY_MS);
    const deadline = setTimeout(() => {
      reject(new Problem(`The viewer at ${origin} did not answer. Download the profile and drop it onto the viewer.`));
    }, DEADLINE_MS);
    const hear = (event) => {
      if (event.source === viewer && event.origin === origin && contract.isReady(event.data)) resolve();
    };
    window.addEventListener("message", hear);
    signal.addEventListener("abort", () => {
      clearInterval(asking);
      clearTimeout(deadline);
      window.removeEventListener("message", hear);
    });
  });
}
