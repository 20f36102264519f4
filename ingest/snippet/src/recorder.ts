/**
 * Records the views of a document in chunks. The next profiler is constructed before the last one stops: that takes
 * 0.3 ms of the main thread, and the other order up to 132 ms.
 */

import { type Cost, counted, takeCost } from './cost';
import { add, type Answer, clear, flush } from './delivery';
import { marksDropped, takeMarks, watchMarks } from './marks';
import { drop, endpoint, header, isOn, load, log, miss, numberOf, rateOf, script, settings } from './page';
import type { Profiler } from './profiler';

declare const BARE: boolean;
declare const VERSION: string;

/** One page view: a visit of one page, by a load or within a document. Its envelopes have these names. */
interface View {
  readonly viewId: string;
  readonly release: unknown;
  page: string | undefined;
  url: string;
  readonly timeOrigin: number;
  /** When it began. A soft navigation that the browser tells of moves it back. */
  viewStart: number;
  readonly requestedInterval: number;
  /** Share of such views that are recorded: that of the header times that of the draw. */
  readonly sampleRate: number;
  readonly navigation: string | undefined;
  readonly userAgent: string | undefined;
  /** What the server knows the snippet's own functions by: they are no work of the page. */
  readonly snippet: Readonly<Record<string, unknown>> | undefined;
  readonly isolated: boolean;
  readonly device: Readonly<Record<string, unknown>>;
  /** The number of its next trace. */
  seq: number;
}

/** What waits so long is sent. */
const DUE_MS = 14e3;
/** A timer may fire a little early. */
const EARLY_MS = 5;
/** What changes the address so soon after the view's begin or another change, without the user, redirects. */
const REDIRECT_MS = 1e3;
/** Views by route in one document: some, and one more every so many ms. */
const MAX_ROUTES = 30;
const ROUTE_MS = 2e4;
const DURATION_MS = 6e4;
const INTERVAL_MS = 10;
/** A busy page's bursts give up to 14 times as many samples as the interval promises. */
const BUFFER_SAMPLES = 1e4;
/** What is recorded after an interaction, where a page records only those. */
const INTERACTION_MS = 2e3;
/** The share of a view's time that the snippet may take of the main thread. */
const BUDGET = 0.01;
/** A view that just began may take what one of that many ms may. */
const START_MS = 1e4;
/** After an input the page works, and a person waits. */
const QUIET_MS = 100;

const { timeOrigin } = performance;
let view: View;
/** When the view's recording began, ms: with a core that comes late and without a stub, later. */
let since: number;
/** When it is over. 0: it is not recorded. */
let endsAt = 0;
/** Where the view before it began. */
let formerStart: number;
let profiler: Profiler | undefined;
/** The stub's profiler, until the first view takes it. */
let early: Profiler | undefined;
let timer: ReturnType<typeof setTimeout>;
let tags: unknown;
let sentAt = 0;
/** When the user last did something. */
let inputAt = -Infinity;
/** Whether only that is recorded. */
let isSparse: boolean;
let isPaused = false;
/** Until then nothing is recorded or sent. */
let mutedUntil = 0;
/** Marks from before, as before consent, are not sent. */
let marksFrom = 0;
let path: string;
/** When the view began, or its address last changed. */
let movedAt: number;
/** Whether the user did something since. */
let hasInput: boolean;
let routes = 0;
/** Main-thread ms that the view has taken. */
let spent: number;
/** So long is the next chunk at least, ms. */
let leastMs = 0;

const now = (): number => performance.now();

/** Reads past what a `toJSON` made of a value. */
function readOwn(this: Record<string, unknown>, key: string): unknown {
  return this[key];
}

const stringify = (value: unknown): string =>
  JSON.stringify(value, ([] as { toJSON?: unknown }).toJSON ? readOwn : undefined);

/**
 * Returns a value's JSON. Old libraries give all arrays or objects of a page a `toJSON`, which makes texts of lists: it is
 * hidden meanwhile. Where it cannot be, and in the bare core, its results are not used.
 */
const write = BARE ? stringify : (value: unknown): string => {
  const owners = [Array, Object].map(({ prototype }) =>
    [prototype, Object.getOwnPropertyDescriptor(prototype, 'toJSON')] as const);
  const define = (hidden?: PropertyDescriptor): void => owners.forEach(
    ([prototype, own]) => own && Reflect.defineProperty(prototype, 'toJSON', hidden || own),
  );
  define({ value: undefined });
  try {
    return stringify(value);
  } finally {
    define();
  }
};

/** Records and sends nothing for so many ms, and forgets what waits. */
const mute = (ms: number): void => {
  mutedUntil = now() + ms;
  clear();
  cut('stop');
};

/** Records nothing until the page's own `start`. */
export const pause = (): void => {
  isPaused = true;
  cut('stop');
};

/** Ends the recording of this document. */
const giveUp = (reason: string, error?: unknown): void => {
  pause();
  miss(reason, error);
};

/** Begins again. */
const resume = (): void => {
  flush(false);
  if (!profiler) {
    cut('stop', true);
  }
};

/** Begins again after the page's own `stop`; a pause that the server asked for stays. What was meanwhile is not sent. */
export const unpause = (): void => {
  isPaused = false;
  marksFrom = now();
  resume();
};

/** Takes an answer to lines; `viewId` is that of the first. */
export const hear = ({ status, stop, detail = '' }: Answer, viewId: string): void => {
  log(`${status} ${detail}`);
  if (!BARE) {
    dispatchEvent(new CustomEvent('fieldflame:sent', { detail: { viewId, status } }));
  }
  if (stop) {
    mute(stop * 1e3);
  }
};

/** Says why a constructor threw: the header is missing, or was lost on the way, or something else. */
export const fail = (error: unknown): void => {
  const isRefused = (error as Error | undefined)?.name === 'NotAllowedError';
  giveUp(isRefused ? (!BARE && header.on ? 'header-lost' : 'no-header') : 'constructor', error);
};

/** Makes a new profiler, or the stub's, the current one; none if nothing is to be recorded now. */
const construct = (): void => {
  if (!isPaused && now() >= mutedUntil && now() < endsAt - EARLY_MS) {
    try {
      profiler = early ?? new window.Profiler!({
        sampleInterval: view.requestedInterval,
        maxBufferSize: numberOf('buffer', BUFFER_SAMPLES),
      });
      early = undefined;
      profiler.addEventListener('samplebufferfull', counted(() => cut('samplebufferfull', true)));
      // A chunk ends when a view has been recorded for 0.5, 2, 4, 6, 8, 16, 24 … s.
      const least = now() - since + EARLY_MS + leastMs;
      const length = least < 500 ? 500 : least < 8e3 ? 2e3 : 8e3;
      timer = setTimeout(endChunk, Math.min(since + least - (least % length) + length, endsAt) - now());
    } catch (error) {
      fail(error);
    }
  }
};

/** Ends the chunk, of the view `of`. `goesOn` with the next one, of the current view. */
const cut = (reason: string, goesOn?: boolean, of = view): void => {
  const old = profiler;
  const end = now();
  clearTimeout(timer);
  profiler = undefined;
  if (goesOn) {
    construct();
  }
  if (old) {
    const seq = of.seq++;
    const isDue = !profiler || end - sentAt > DUE_MS;
    if (isDue) {
      sentAt = end;
    }
    old.stop().then(counted((trace) => {
      if (now() >= mutedUntil) {
        const marks = takeMarks(Math.max(of.viewStart - timeOrigin, marksFrom), end);
        const { sampleInterval } = old;
        const cost = BARE ? undefined : keepBudget(takeCost(trace, sampleInterval));
        const envelope = { ...of, seq, sampleInterval, reason, tags, marks, trace, cost, marksDropped };
        add(of.viewId, write(envelope), isDue);
      }
    })).catch(() => {}); // an unhandled rejection would show up in the page's own error reports
  }
};

const endChunk = counted(() => {
  const quietMs = now() - inputAt;
  if (!BARE && quietMs < QUIET_MS) {
    timer = setTimeout(endChunk, QUIET_MS);
  } else {
    cut('timer', BARE || !isSparse || document.readyState !== 'complete' || quietMs <= INTERACTION_MS);
  }
});

/** Returns a chunk's cost. After a chunk that cost much, the next ones are longer. Above the budget, the recording ends. */
const keepBudget = (cost: Cost): Cost => {
  const ms = Math.max(cost.ms, cost.sampled);
  const budget = numberOf('budget', BUDGET);
  spent += ms;
  leastMs = ms / budget || 0;
  if (spent > budget * (now() - since + START_MS)) {
    giveUp('cost');
  }
  return cost;
};

/** Notes the address. */
const move = (): void => {
  path = location.pathname;
  movedAt = now();
};

/** Begins a view at `start`, ms. `stubs` is the stub's profiler. */
const begin = (navigation: string | undefined, start: number, page?: string, stubs?: Profiler): void => {
  const former = view;
  move();
  hasInput = false;
  const rate = rateOf(page || path);
  const isDrawn = Math.random() < rate && (navigation !== 'route' || ++routes <= MAX_ROUTES + now() / ROUTE_MS);
  const { deviceMemory: memory, hardwareConcurrency: cores, userAgent, webdriver } = navigator;
  formerStart = former?.viewStart;
  early = stubs;
  since = early ? start : now();
  endsAt = isDrawn ? since + numberOf('duration', DURATION_MS) : 0;
  spent = 0;
  view = {
    // `crypto.randomUUID` is missing on pages that came over plain http; an address of a blob ends with one.
    viewId: crypto.randomUUID?.() ?? URL.createObjectURL(new Blob()).slice(-36),
    seq: 0,
    release: settings.release,
    page,
    url: location.href,
    timeOrigin,
    viewStart: timeOrigin + start,
    requestedInterval: numberOf('interval', INTERVAL_MS),
    sampleRate: BARE ? rate : rate * Number(header.rate || 1),
    navigation,
    // By default the header says it. A browser that a program drives does not say so there.
    userAgent: !BARE && isOn('bots') ? userAgent.replace('Headless', '') : webdriver ? `webdriver ${userAgent}` : undefined,
    snippet: BARE ? undefined : { version: VERSION, url: script },
    isolated: crossOriginIsolated,
    device: { memory, cores, mobile: /Mobi/.test(userAgent) },
  };
  if (isDrawn) {
    watchMarks(Math.max(start, marksFrom), moveStart);
  } else {
    log('no trace, rate');
  }
  cut('route', true, former);
  drop(early); // of a view that is not drawn
};

/** The browser tells late when a route's interaction began. What has been sent by then stays as it is. */
const moveStart = (start: number): void => {
  const moved = timeOrigin + start;
  if (view.navigation === 'route' && !view.seq && moved > formerStart) {
    view.viewStart = Math.min(view.viewStart, moved);
  }
};

/** The page's own word for its route. Another one than before begins a view. */
export const setPage = (value: unknown): void => {
  const page = `${value}`;
  if (!view.seq && !view.page) {
    view.page = page;
  } else if (view.page !== page) {
    begin('route', now(), page);
  }
};

export const setTags = (value: unknown): void => {
  tags = JSON.parse(write(value)); // throws here rather than in each chunk
};

/** The name of the event that ends the page's being seen is the chunk's reason. */
const leave = ({ type }: { type: string }): void => {
  cut(type);
  flush(true, !BARE && type === 'pagehide');
};

export const on = <E extends Event>(type: string, run: (event: E) => void, target: EventTarget = window): void => {
  target.addEventListener(type, counted(run as (event: Event) => void), true);
};

/** Begins with the view that the document's load began. `stubs` is the stub's profiler; marks are from `from` on, ms. */
export const record = (stubs: Profiler | undefined, from: number): void => {
  marksFrom = from;
  on('beforeunload', () => cut('beforeunload', true));
  if (!BARE) {
    on('freeze', leave); // of a hidden page, which has left already: once more costs nothing
  }
  on('visibilitychange', () => (document.hidden ? (BARE || endsAt) && leave({ type: 'hidden' }) : resume()));
  on('pagehide', (event) => {
    leave(event);
    endsAt = 0; // a cache may bring the document back, as another view
  });
  on<PageTransitionEvent>('pageshow', ({ persisted }) => {
    if (persisted) {
      flush(false);
      begin('bfcache', now(), view.page);
    }
  });
  on<Event & { navigationType?: string }>('currententrychange', ({ navigationType: type }) => {
    if (location.pathname === path) {
      return;
    }
    const isReplaced = type === 'replace';
    if (
      type !== 'traverse'
        && (now() - movedAt < REDIRECT_MS || (isReplaced && document.readyState !== 'complete'))
        // Where each key or move replaces the address of a route, the first one has begun the view.
        && (!hasInput || (isReplaced && view.navigation === 'route'))
    ) {
      move();
      if (!view.seq) {
        view.url = location.href; // later, the view's name has been sent
      }
    } else {
      begin('route', now());
    }
  }, window.navigation); // without it, the window hears nothing of that name
  isSparse = !BARE && isOn('interactions');
  const input = (): void => {
    hasInput = true;
    inputAt = now();
    if (isSparse) {
      resume();
    }
  };
  // Assistive technology sends nothing but the click.
  ['pointerdown', 'keydown', 'click'].forEach((type) => on(type, input));
  if (!BARE) {
    on<SecurityPolicyViolationEvent>('securitypolicyviolation', ({ blockedURI, disposition }) => {
      if (disposition === 'enforce' && blockedURI.startsWith(endpoint.split('?')[0]!)) {
        mute(Infinity);
        miss('csp');
      }
    });
  }
  const activated = load?.activationStart || 0;
  const navigation = activated ? 'prerender' : load?.type.replace('navigate', 'load');
  begin(navigation, activated, settings.page as string, stubs);
};
