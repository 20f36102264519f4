/**
 * Records the views of a document in chunks. The next profiler is constructed before the last one stops: that takes
 * 0.3 ms of the main thread, and the other order up to 132 ms.
 */

import { counted, takeCost } from './cost';
import { add, clear, flush } from './delivery';
import { marksDropped, takeMarks, watchMarks } from './marks';
import { drop, endpoint, header, isOn, load, log, miss, now, numberOf, rateOf, readCache, readTrace, script, settings } from './page';
import type { Profiler } from './profiler';
import { drawWhole, keepSlow } from './slow';

declare const BARE: boolean;
declare const FULL: boolean;
declare const VERSION: string;

/** One page view: a visit of one page, by a load or within a document. Its envelopes have these names. */
interface View {
  readonly viewId: string;
  session?: string;
  readonly release: unknown;
  readonly environment: unknown;
  page: string | undefined;
  url: string;
  /** Its trace in a tracing system. */
  requestTrace?: string | undefined;
  readonly timeOrigin: number;
  /** When it began. A soft navigation that the browser tells of moves it back. */
  viewStart: number;
  readonly requestedInterval: number;
  /** Share of such views that are recorded: that of the header times that of the draw. */
  readonly sampleRate: number;
  /** Share of views whose slow moments are kept, where few are kept whole, and whether this is not one of them. */
  readonly slowRate?: number;
  readonly onlySlow?: boolean;
  readonly navigation: string | undefined;
  readonly userAgent: string | undefined;
  /** What the server knows the snippet's own functions by: they are no work of the page. */
  readonly snippet?: Readonly<Record<string, unknown>>;
  readonly isolated: boolean;
  readonly device: Readonly<Record<string, unknown>>;
  /** The number of its next trace. */
  seq: number;
}

/** `document.readyState` is above it, `interactive` or `loading`, until it is `complete`. */
const COMPLETE = 'd';
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
/** That of the view before it. */
let formerSince: number;
let profiler: Profiler | undefined;
/** The stub's profiler, until the first view takes it. */
let early: Profiler | undefined;
let timer: ReturnType<typeof setTimeout>;
let tags: unknown;
let sentAt = 0;
/** When the chunk began, ms. */
let chunkAt = 0;
/** When the user last did something. */
let inputAt = -Infinity;
let isPaused = false;
/** Until then nothing is recorded or sent. */
let mutedUntil = 0;
let path: string;
/** When the view began, or its address last changed. */
let movedAt: number;
let routes = 0;
/** The view that the document's load began. */
let loaded: View;
/** How long the view must last, so that what it has taken of the main thread is within its budget. */
let paidMs: number;
/** So long is the next chunk at least, ms. */
let leastMs = 0;

/** Takes a value's prototype, and those of all in it. */
const strip = (value: unknown): void => {
  if (Object(value) === value) {
    Object.values(Object.setPrototypeOf(value, null)).forEach(strip);
  }
};

/** Records and sends nothing for so many ms, and forgets what waits. */
export const mute = (ms: number): void => {
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
  takeMarks(0, now());
  resume();
};

/** Says why a constructor threw: the header is missing, or was lost on the way, or something else. */
export const fail = BARE ? pause : (error: unknown): void => {
  const isRefused = /^NotA/.test((error as Error | undefined)?.name!); // NotAllowedError
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
      on('samplebufferfull', () => cut('samplebufferfull', true), profiler);
      // A chunk ends when a view has been recorded for 0.5, 2, 4, 6, 8, 16, 24 … s.
      const least = now() - since + EARLY_MS + leastMs;
      const length = least < 8e3 ? least < 500 ? 500 : 2e3 : 8e3;
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
  const begunAt = FULL ? chunkAt : 0;
  if (FULL) {
    chunkAt = end;
  }
  if (old) {
    const { sampleInterval } = old;
    const chunk = {
      ...of,
      reason,
      sampleInterval,
      // Which build's map each script has, as the bundlers' plugins note it: in some chunks, for scripts that come late.
      debugIds: of.seq++ & 3 ? undefined : window._sentryDebugIds ?? window._debugIds,
    };
    const isDue = !profiler || end - sentAt > DUE_MS;
    if (isDue) {
      sentAt = end;
    }
    old.stop().then(counted((trace) => {
      if (now() >= mutedUntil) {
        const marks = takeMarks(of.viewStart - timeOrigin, end);
        const envelope: Record<string, unknown> = { ...chunk, marks, trace, tags };
        if (!BARE) {
          const cost = takeCost(trace, sampleInterval);
          // A view without a load of its own loads nothing.
          envelope.cache = chunk.seq || of !== loaded ? undefined : readCache();
          envelope.cost = cost;
          envelope.marksDropped = marksDropped;
          // After a chunk that cost much, the next ones are longer. Above the budget, the recording ends.
          const ms = Math.max(cost.ms, cost.sampled) / numberOf('budget', BUDGET);
          leastMs = ms || 0;
          paidMs += ms;
          if (paidMs > now() - since + START_MS) {
            giveUp('cost');
          }
        }
        // Old libraries give all arrays or objects of a page a `toJSON`, which makes texts of lists.
        if (([] as { toJSON?: unknown }).toJSON) {
          strip(envelope);
        }
        if (FULL && of.onlySlow) {
          keepSlow(of.viewId, envelope, begunAt, of.viewStart - timeOrigin, marks, isDue);
        } else {
          add({ viewId_: of.viewId, tries_: 0, line_: JSON.stringify(envelope) }, isDue);
        }
      }
    })).catch(() => {}); // an unhandled rejection would show up in the page's own error reports
  }
};

const endChunk = counted(() => {
  if (!BARE && now() - inputAt < QUIET_MS) {
    timer = setTimeout(endChunk, QUIET_MS);
  } else {
    cut('timer', BARE || !isOn('interactions') || document.readyState > COMPLETE || now() - inputAt <= INTERACTION_MS);
  }
});

/** Notes the address. */
const move = (): void => {
  path = location.pathname;
  movedAt = now();
};

/** Begins a view at `start`, ms. Marks from before `from`, as before consent, are not sent. */
const begin = (navigation: string | undefined, start: number, page?: string, from = 0): void => {
  const former = view;
  move();
  const rate = rateOf(page || path);
  const isDrawn = Math.random() < rate && (navigation !== 'route' || ++routes <= MAX_ROUTES + now() / ROUTE_MS);
  formerSince = since;
  since = early ? start : now();
  endsAt = isDrawn ? since + numberOf('duration', DURATION_MS) : 0;
  paidMs = 0;
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
    environment: settings.environment,
    sampleRate: BARE ? rate : rate * Number(header.rate || 1),
    ...(FULL && settings.keep === 'slow' ? drawWhole(rate * Number(header.rate || 1)) : {}),
    navigation,
    // By default the header says it. A browser that a program drives does not say so there.
    userAgent: !BARE && isOn('bots')
      ? navigator.userAgent.replace('Headless', '')
      : navigator.webdriver ? `webdriver ${navigator.userAgent}` : undefined,
    ...(BARE ? {} : { snippet: { version: VERSION, url: script } }),
    isolated: crossOriginIsolated,
    device: {
      memory: navigator.deviceMemory,
      cores: navigator.hardwareConcurrency,
      mobile: /Mobi/.test(navigator.userAgent),
    },
  };
  if (!BARE && isOn('session')) {
    counted(() => { // a page may have no storage
      const name = `ff ${Date().slice(0, 15)}`;
      view.session = sessionStorage[name] = sessionStorage[name] || view.viewId;
    })();
  }
  if (isDrawn) {
    watchMarks(Math.max(start, from));
  } else {
    log('no trace, rate');
  }
  cut('route', true, former);
  early = drop(early); // of a view that is not drawn
};

/** The browser tells late when a route's interaction began. What has been sent by then stays as it is. */
export const moveStart = (start: number): void => {
  if (!view.seq && start > formerSince) {
    view.viewStart = Math.min(view.viewStart, timeOrigin + start);
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
  tags = Array.from(value as Iterable<unknown>, String); // throws here rather than in each chunk
};

/** The id of the view's trace in a tracing system. Chunks that were sent before do not have it. */
export const setTrace = (value: unknown): void => {
  view.requestTrace = `${value}`;
};

/** Ends the page's being seen. */
const leave = (reason: string): void => {
  cut(reason);
  flush(true, !BARE && reason === 'pagehide');
};

export const on = <E extends Event>(type: string, run: (event: E) => void, target: EventTarget = window): void => {
  target.addEventListener(type, counted(run as (event: Event) => void), true);
};

/** Takes a change of the address: by a redirect, or by a route, which begins a view. */
const changeAddress = ({ navigationType: type }: Event & { navigationType?: string }): void => {
  if (location.pathname !== path) {
    if (
      type !== 'traverse'
        && (now() - movedAt < REDIRECT_MS || (type === 'replace' && document.readyState > COMPLETE))
        // Where each key or move replaces the address of a route, the first one has begun the view.
        && (inputAt <= since || (type === 'replace' && view.navigation === 'route'))
    ) {
      move();
      if (!view.seq) {
        view.url = location.href; // later, the view's name has been sent
      }
    } else {
      begin('route', now());
    }
  }
};

/** Begins with the view that the document's load began. `stubs` is the stub's profiler; marks are from `from` on, ms. */
export const record = (stubs: Profiler | undefined, from: number): void => {
  const input = (): void => {
    inputAt = now();
    if (!BARE && isOn('interactions')) {
      resume();
    }
  };
  const handlers: Record<string, (event: any) => void> = {
    beforeunload: () => cut('beforeunload', true),
    visibilitychange: () => (document.hidden ? (BARE || endsAt) && leave('hidden') : resume()),
    pagehide: () => {
      leave('pagehide');
      endsAt = 0; // a cache may bring the document back, as another view
    },
    pageshow: ({ persisted }: PageTransitionEvent) => {
      if (persisted) {
        flush(false);
        begin('bfcache', now(), view.page);
      }
    },
    pointerdown: input,
    keydown: input,
    click: input, // assistive technology sends nothing else
    ...(BARE ? {} : {
      securitypolicyviolation: ({ blockedURI, disposition }: SecurityPolicyViolationEvent) => {
        if (disposition === 'enforce' && blockedURI === endpoint) {
          mute(Infinity);
          miss('csp');
        }
      },
    }),
  };
  for (const type in handlers) {
    on(type, handlers[type]!);
  }
  on('currententrychange', changeAddress, window.navigation); // without it, the window hears nothing of that name
  const activated = load?.activationStart || 0;
  const navigation = activated ? 'prerender' : load?.type.replace('navigate', 'load');
  early = stubs;
  begin(navigation, activated, settings.page as string, from);
  if (!BARE) {
    loaded = view;
  }
  if (FULL) {
    view.requestTrace = readTrace();
  }
};
