// Links that are copied, profiles that are opened, and pages that are shared: what is asked, copied and said.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { fire, giveClipboard, load, openPage, press, run, settle } from "../page.mjs";

const VIEWER = "https://viewer.test";
const LINK = { url: "https://fieldflame.example/p/1", viewer_url: `${VIEWER}/from-url/x`, compare_url: `${VIEWER}/compare/calltree/`, expires_at: "2026-11-21T12:30:00Z" };
const SAID = `<p id="open-status"></p><form><input name="csrfmiddlewaretoken" value="token"></form>`;
const byId = (id) => document.getElementById(id);
const said = () => byId("open-status").textContent.replaceAll(/[\u202f\u00a0]/g, " ");
process.env.TZ = "UTC";
console.error = () => {}; // what is said is also logged
openPage(SAID);
const line = byId("open-status"); // of all these pages: the script that writes to it is loaded once
await load("layout/toast.js");

async function open(script, html, { answers = {}, hasClipboard = true } = {}) {
  const page = openPage(html + SAID, { answers });
  byId("open-status").replaceWith(line);
  const copied = giveClipboard(hasClipboard);
  await run(script);
  return { ...page, copied };
}

const COPY = `<button id="copy" data-links-url="/links" data-profile-url="/profile?page=/a&page=/b&release=1" data-profile-search="a & b" hidden>Copy</button><button id="copy-page" hidden>Copy page</button>`;

test("a copied link searches for the function, and says until when it works", async () => {
  const { asked, copied } = await open("layout/copy-link.js", COPY, { answers: { "/links": LINK } });
  assert.equal(byId("copy").hidden, false);
  byId("copy").click();
  assert.equal(byId("copy").disabled, true);
  await settle();
  assert.deepEqual(copied, [`${VIEWER}/from-url/x?search=a+%26+b`]);
  assert.deepEqual(JSON.parse(asked[0].body), { params: { page: ["/a", "/b"], release: ["1"] } });
  assert.equal(asked[0].headers["X-CSRFToken"], "token");
  assert.equal(said(), "Link copied. Anyone with it can see this profile until 12:30 PM, without logging in.");
  assert.equal(byId("copy").disabled, false);
  byId("copy-page").click();
  await settle();
  assert.equal(copied[1], location.href);
  assert.match(said(), /for members of the project/);
});

test("a link that browsers will refuse is given with a warning", async () => {
  for (const [url, viewer, words] of [
    ["http://localhost:8000/p", VIEWER, /works only on this computer/],
    ["http://10.0.0.7/p", VIEWER, /Browsers will refuse it/],
    ["http://10.0.0.7/p", "http://viewer.local", /without logging in\.$/],
  ]) {
    await open("layout/copy-link.js", COPY, { answers: { "/links": { ...LINK, url, viewer_url: viewer } } });
    byId("copy").click();
    await settle();
    assert.match(said(), words);
  }
});

test("a link that is not made says why, and without a clipboard none is offered", async () => {
  for (const [answer, words] of [
    [new Response("", { status: 401 }), /You are logged out/],
    [new Response("", { status: 500 }), /could not create a link \(status 500\)/],
    [new TypeError("offline"), /could not be created or copied/],
  ]) {
    await open("layout/copy-link.js", COPY, { answers: { "/links": answer } });
    byId("copy").click();
    await settle();
    assert.match(said(), words);
    assert.equal(byId("copy").disabled, false);
  }
  await open("layout/copy-link.js", COPY, { hasClipboard: false });
  assert.equal(byId("copy").hidden, true);
});

test("both sides of a comparison open in a window that was opened by the click", async () => {
  const viewer = { location: { replace(url) { viewer.shown = url; } }, close() { viewer.isClosed = true; } };
  const html = `<button id="open-comparison" data-links-url="/links" data-profile-url="/profile" hidden>Compare</button>`;
  await open("layout/copy-link.js", html, { answers: { "/links": LINK } });
  window.open = () => viewer;
  byId("open-comparison").click();
  await settle();
  assert.deepEqual([viewer.shown, viewer.isClosed, viewer.opener], [LINK.compare_url, undefined, null]);
  await open("layout/copy-link.js", html, { answers: { "/links": new Response("", { status: 500 }) } });
  byId("open-comparison").click();
  await settle();
  assert.equal(viewer.isClosed, true);
  window.open = () => null;
  byId("open-comparison").click();
  assert.match(said(), /blocked the new window/);
});

test("speedscope fetches the profile by a link", async () => {
  const viewer = { location: { replace(url) { viewer.shown = url; } }, close() { viewer.isClosed = true; } };
  const html = `<button id="open" data-fetched-by="https://speedscope.test" data-links-url="/links" data-profile-url="/profile?format=speedscope" data-profile-name="shop /cart" hidden>Open</button>`;
  const { asked, copied } = await open("layout/copy-link.js", html, { answers: { "/links": LINK }, hasClipboard: false });
  assert.equal(byId("open").hidden, false);
  window.open = () => viewer;
  byId("open").click();
  await settle();
  assert.equal(viewer.shown, "https://speedscope.test/#profileURL=https%3A%2F%2Ffieldflame.example%2Fp%2F1&title=shop%20%2Fcart");
  assert.deepEqual(JSON.parse(asked[0].body), { params: { format: ["speedscope"] } });
  assert.deepEqual([copied, viewer.opener], [[], null]);
  assert.match(said(), /can see the profile until 12:30 PM\.$/);
});

const PROFILE = `<button id="open" data-viewer-origin="${VIEWER}" data-profile-url="/profile" data-profile-name="shop /cart" data-profile-search="a & b" hidden>Open</button>`;

// Opens the viewer's window with a click; `heard` are the messages that it was sent.
async function openProfile(answers = { "/profile": new Response("profile") }) {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  await open("layout/open-profile.js", PROFILE, { answers });
  const viewer = { closed: false, heard: [], postMessage: (message, origin) => viewer.heard.push([message.name, origin]) };
  window.open = (address) => Object.assign(viewer, { address });
  byId("open").click();
  await settle();
  return viewer;
}

const answerAs = async (source, origin) => {
  fire(window, "message", { source, origin, data: { name: "ready:response" } });
  await settle();
};

test("the viewer gets the profile once it is ready, with a name and a search", async () => {
  const viewer = await openProfile();
  assert.equal(viewer.address, `${VIEWER}/from-post-message/calltree/?profileName=shop%20%2Fcart&search=a%20%26%20b`);
  assert.equal(said(), "Fetching the profile…");
  mock.timers.tick(250);
  mock.timers.tick(250);
  await answerAs(viewer, VIEWER);
  assert.deepEqual(viewer.heard, [["ready:request", "*"], ["ready:request", "*"], ["inject-profile", VIEWER]]);
  assert.equal(said(), "Opened in a new window.");
  assert.equal(byId("open").disabled, false);
  mock.timers.tick(60_000);
  assert.equal(viewer.heard.length, 3); // it asks no longer
});

test("Perfetto is asked and answered in its own words", async () => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const html = PROFILE.replace("<button", `<button data-viewer="perfetto"`);
  await open("layout/open-profile.js", html, { answers: { "/profile": new Response("profile") } });
  const viewer = { closed: false, heard: [], postMessage: (...message) => viewer.heard.push(message) };
  window.open = (address) => Object.assign(viewer, { address });
  byId("open").click();
  await settle();
  assert.equal(viewer.address, VIEWER);
  mock.timers.tick(250);
  fire(window, "message", { source: viewer, origin: VIEWER, data: "PONG" });
  await settle();
  const [question, [message, origin]] = viewer.heard;
  assert.deepEqual(question, ["PING", "*"]);
  assert.equal(origin, VIEWER);
  assert.equal(message.perfetto.title, "shop /cart");
  assert.equal(message.perfetto.buffer.byteLength, 7);
});

test("another origin or another window gets nothing", async () => {
  const viewer = await openProfile();
  await answerAs(viewer, "https://impostor.test");
  await answerAs({}, VIEWER);
  assert.deepEqual(viewer.heard, []);
  mock.timers.tick(30_000);
  await settle();
  assert.match(said(), /The viewer at https:\/\/viewer\.test did not answer\./);
});

test("what keeps a profile from the viewer is said", async () => {
  const closed = await openProfile();
  closed.closed = true;
  mock.timers.tick(250);
  await settle();
  assert.match(said(), /was closed before the profile was ready/);
  for (const [answer, words] of [
    [new Response("", { status: 401 }), /You are logged out/],
    [new Response("", { status: 404 }), /The project is gone/],
    [new Response("", { status: 500 }), /could not create the profile \(status 500\)/],
    [new TypeError("offline"), /The server did not answer/],
  ]) {
    await openProfile({ "/profile": answer });
    assert.match(said(), words);
    assert.equal(byId("open").disabled, false);
  }
  await open("layout/open-profile.js", PROFILE);
  window.open = () => null;
  byId("open").click();
  assert.match(said(), /blocked the new window/);
});

// As dashboard/templates/dashboard/layout/_share.html and _share_made.html have it.
const SHARE = `<div class="share"><form data-share="make" action="/share"><input name="page"><button>Share</button></form><div class="share-made" hidden></div></div>`;
const MADE = `<p class="share-link"><input value="https://fieldflame.example/shared/ffs_1"><button class="share-copy">Copy</button></p><p class="share-said"></p>
  <div class="share-terms"><form data-share="change" action="/terms"><button>30 days</button></form></div>`;

async function share(answers, { hasClipboard = true } = {}) {
  globalThis.DOMParser = class {
    parseFromString(html) {
      const made = document.createElement("div");
      made.innerHTML = html;
      return made;
    }
  };
  const page = await open("layout/share.js", SHARE, { answers, hasClipboard });
  const button = document.querySelector("[data-share=make] button");
  button.focus();
  fire(button.parentElement, "submit");
  await settle();
  return { ...page, button, box: document.querySelector(".share-made") };
}

const html = (text, status = 200) => () => new Response(text, { status });

test("sharing makes a link to the page as its address is now, and copies it", async () => {
  const { asked, copied, box, button } = await share({ "/share": html(MADE) });
  assert.equal(asked[0].body.get("page"), location.href);
  assert.deepEqual(copied, ["https://fieldflame.example/shared/ffs_1"]);
  assert.equal(box.querySelector(".share-said").textContent, "Link copied.");
  assert.equal(document.activeElement, box.querySelector("input"));
  press("Escape");
  assert.deepEqual([box.hidden, document.activeElement], [true, button]);
  fire(button.parentElement, "submit"); // shows the same link
  await settle();
  assert.deepEqual([asked.length, copied.length, box.hidden], [1, 2, false]);
  fire(document.body, "click");
  assert.equal(box.hidden, true);
});

test("without a clipboard the link is selected", async () => {
  const { box } = await share({ "/share": html(MADE) }, { hasClipboard: false });
  assert.match(box.querySelector(".share-said").textContent, /The link is selected/);
  assert.equal(document.selection, box.querySelector("input").value);
});

test("a link’s terms change, and a revoked one is forgotten", async () => {
  let answer = `<div class="share-terms">30 days<form data-share="change" action="/terms"><button>Revoke</button></form></div>`;
  const { box } = await share({ "/share": html(MADE), "/terms": () => new Response(answer) });
  const change = async () => {
    fire(box.querySelector("[data-share=change]"), "submit");
    await settle();
  };
  await change();
  assert.match(box.textContent, /30 days/);
  answer = `<div class="share-terms">The link is revoked.</div>`;
  await change();
  assert.match(box.textContent, /The link is revoked\./);
  assert.equal(box.querySelector(".share-link"), null);
});

test("a page that cannot be shared says why", async () => {
  for (const [answer, words] of [
    [html(`<p class="problem">Guests share nothing.</p>`, 403), "Guests share nothing."],
    [html("", 500), "The server could not create a link (status 500)."],
    [new TypeError("offline"), "The server did not answer. Check the connection and try again."],
  ]) {
    for (const hasClipboard of [true, false]) { // no rejection is left unhandled: it would fail this test
      const { box } = await share({ "/share": answer }, { hasClipboard });
      assert.equal(box.querySelector("[role=alert]").textContent, words);
    }
  }
});
