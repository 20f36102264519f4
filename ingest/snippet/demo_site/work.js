// The work that the demo page records: plain functions with names, left unminified so that they can be read here and
// found again in the dashboard. Each runs for a share of the time, so that the table looks alike on any machine.

const ORDER_COUNT = 1500;
const CARD_COUNT = 120;
const ROUND_COUNT = 6;
/** How long each function runs in one round, in milliseconds. */
const SHARE_MS = { findDuplicateOrders: 160, layoutCards: 70, buildReport: 80, countFolders: 45 };

/** A small fixed generator of pseudo-random numbers in [0, 1): every visit does the same work. */
function makeRandom(seed) {
  let state = seed;
  return function nextRandom() {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function makeOrders(count) {
  const random = makeRandom(7);
  const orders = [];
  for (let id = 0; id < count; id += 1) {
    orders.push({
      id,
      customer: Math.floor(random() * 60),
      cents: Math.floor(random() * 20) * 100,
      minute: Math.floor(random() * 1440),
    });
  }
  return orders;
}

/** Compares every order with every other one: the quadratic loop that ought to be on top of the table. */
function findDuplicateOrders(orders) {
  let duplicates = 0;
  for (let i = 0; i < orders.length; i += 1) {
    const order = orders[i];
    for (let j = i + 1; j < orders.length; j += 1) {
      const other = orders[j];
      const isNear = Math.abs(order.minute - other.minute) < 30;
      if (isNear && order.customer === other.customer && order.cents === other.cents) {
        duplicates += 1;
      }
    }
  }
  return duplicates;
}

/** Writes a width and reads a height, card by card: each read makes the browser lay the page out again. */
function layoutCards(cards) {
  let height = 0;
  cards.forEach(function measureCard(card, index) {
    card.style.inlineSize = `${40 + ((index * 7 + height) % 50)}%`;
    height += card.offsetHeight;
  });
  return height;
}

/** Makes strings and arrays by the thousand. The browser drops many of these stacks: their time is hidden. */
function buildReport(orders) {
  const rows = [];
  let text = '';
  for (const order of orders) {
    const row = `${order.id};customer ${order.customer};${order.cents}\n`;
    rows.push([row, order.minute]);
    text += row;
  }
  return rows.length + text.length;
}

function makeFolders(depth) {
  const children = [];
  for (let i = 0; depth > 0 && i < 3; i += 1) {
    children.push(makeFolders(depth - 1));
  }
  return { children };
}

/** Calls itself: its total counts a sample once, however often it stands on the stack. */
function countFolders(folder) {
  let count = 1;
  for (let i = 0; i < folder.children.length; i += 1) {
    count += countFolders(folder.children[i]);
  }
  return count;
}

/** Calls `run(input)` again and again for `spanMs`, at least once, and returns its last result. */
function repeatFor(spanMs, run, input) {
  const end = performance.now() + spanMs;
  let result;
  do {
    result = run(input);
  } while (performance.now() < end);
  return result;
}

/** Gives the page time to breathe, so that each part is a task of its own. */
function takeBreath() {
  return new Promise(function wait(resolve) {
    setTimeout(resolve, 12);
  });
}

function makeCards(stage) {
  const cards = [];
  for (let i = 0; i < CARD_COUNT; i += 1) {
    const card = document.createElement('div');
    card.textContent = `order ${i}`;
    stage.append(card);
    cards.push(card);
  }
  return cards;
}

/** Runs all parts, round by round; calls `onRound(done, count)` after each, and returns what they found. */
export async function runWork(stage, onRound) {
  const orders = makeOrders(ORDER_COUNT);
  const folders = makeFolders(8);
  const cards = makeCards(stage);
  const found = {};
  for (let round = 1; round <= ROUND_COUNT; round += 1) {
    found.duplicates = repeatFor(SHARE_MS.findDuplicateOrders, findDuplicateOrders, orders);
    await takeBreath();
    found.height = repeatFor(SHARE_MS.layoutCards, layoutCards, cards);
    await takeBreath();
    found.letters = repeatFor(SHARE_MS.buildReport, buildReport, orders);
    await takeBreath();
    found.folders = repeatFor(SHARE_MS.countFolders, countFolders, folders);
    await takeBreath();
    onRound(round, ROUND_COUNT);
  }
  stage.replaceChildren();
  return found;
}
