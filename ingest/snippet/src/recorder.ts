/**
 * Records the views of a document in chunks. The next profiler is constructed before the last one stops: that takes
 * 0.3 ms of the main thread, and the other order up to 132 ms.
 */

import { add, type Answer, clear, flush, onAnswer } from './delivery';
import { resetMarks, takeMarks, watchMarks } from './marks';
import { drop, endpoint, header, isOn, load, log, miss, numberOf, rateOf, settings } from './page';
import type { Profiler, ProfilerTrace } from './profiler';

type Navigation = 'load' | 'reload' | 'back_forward' | 'route' | 'bfcache' | 'prerender';
type Reason = 'timer' | 'samplebufferfull' | 'hidden' | 'pagehide' | 'freeze' | 'beforeunload' | 'route' | 'stop';

/** One page view: a visit of one page, by a load or within a document. */
interface View {
  readonly id: string;
  readonly navigation: Navigation;
  /** Share of such views that are recorded: that of the header times that of the draw. */
  readonly rate: number;
  readonly isDrawn: boolean;
  url: string;
  page: string | undefined;
  /** When it began, ms since the time origin. A soft navigation that the browser tells of moves it back. */
  start: number;
  /** When its recording began: with a core that comes late and without a stub, later. */
  readonly since: number;
  /** The number of its next trace. */
  seq: number;
  /** Main-thread ms that the snippet has taken in it, and how many of them have been sent. */
  spent: number;
  told: number;
}

/** A chunk ends when a view has been recorded for so many ms, and then at each multiple of the length. */
const CHUNK_ENDS_MS = [500, 1e3, 2e3, 3e3, 4e3, 6e3, 8e3, 1e4];
const CHUNK_MS = 8e3;
/** So young a view sends each chunk at once; an older one about every so many ms. */
const EAGER_MS = 1e4;
/** A timer may fire a little early. */
const EARLY_MS = 5;
/** A page may say its new route a moment before it changes the address. */
const RENAME_MS = 100;
const DURATION_MS = 6e4;
const INTERVAL_MS = 10;
/** A busy page's bursts give up to 14 times as many samples as the interval promises. */
const BUFFER_SAMPLES = 1e4;
/** What is recorded after an interaction, where a page records only those. */
const INTERACTION_MS = 2e3;
/** Of the main thread, in one view. More is a page that the snippet does not fit: it ends. */
const MAX_COST_MS = 200;

let view: View | undefined;
let profiler: Profiler | undefined;
/** The stub's profiler, until the first view takes it. */
let early: Profiler | undefined;
let timer: ReturnType<typeof setTimeout>;
let tags: unknown;
let sentAt = 0;
let inputAt = 0;
/** Until then nothing is recorded. */
let quietUntil = 0;
/** Until then nothing is sent. */
let mutedUntil = 0;
let isLeaving = false;
/** Marks from before, as before consent, are not sent. */
let marksFrom = 0;
let path: string;
/** The route of a page that is left, which the back/forward cache may bring back. */
let leftPage: string | undefined;
/** When the last view began, and the one before it. */
let begunAt = 0;
let formerBegunAt = 0;

function now(): number {
  return performance.now();
}

/** Returns a random (version 4) UUID. `crypto.randomUUID` is missing on pages that came over plain http. */
function newViewId(): string {
  if (crypto.randomUUID) {
    return crypto.randomUUID();
  }
  const url = URL.createObjectURL(new Blob());
  URL.revokeObjectURL(url);
  return url.slice(-36);
}

/** Returns `run`, with its time on the main thread counted. An error of ours never reaches the page. */
function counted<T>(run: (value: T) => void): (value: T) => void {
  return (value) => {
    const enteredAt = now();
    const of = view;
    try {
      run(value);
    } catch (error) {
      log(`${error}`);
    }
    if (of && (of.spent += now() - enteredAt) > MAX_COST_MS && quietUntil < Infinity) {
      giveUp('cost');
    }
  };
}

/** Ends the recording of this document. */
function giveUp(reason: string, error?: unknown): void {
  pause(Infinity);
  miss(reason, error);
}

/** Records nothing for so many ms. */
export function pause(ms: number): void {
  quietUntil = Math.max(quietUntil, now() + ms);
  cut('stop');
}

/** Begins again. */
export function resume(): void {
  isLeaving = false;
  if (!profiler) {
    cut('stop', true);
  }
}

/** Begins again after the page's own `stop`; a pause that the server asked for stays. What was meanwhile is not sent. */
export function unpause(): void {
  quietUntil = mutedUntil;
  marksFrom = now();
  resume();
}

/** Records and sends nothing for so many ms, and forgets what waits. */
function mute(ms: number): void {
  clear();
  mutedUntil = now() + ms;
  pause(ms);
}

function hear({ status, stop, detail }: Answer, viewId: string): void {
  log(`${status} ${detail || ''}`.trim());
  dispatchEvent(new CustomEvent('fieldflame:sent', { detail: { viewId, status } }));
  if (stop) {
    mute(stop * 1e3);
  }
}

/** Returns the envelope of the ingest contract as JSON. */
function write(of: View, seq: number, reason: Reason, sampleInterval: number, end: number, trace: ProfilerTrace): string {
  const { timeOrigin } = performance;
  const ms = of.spent - of.told;
  of.told = of.spent;
  return JSON.stringify({
    viewId: of.id,
    seq,
    release: settings.release,
    page: of.page,
    url: of.url,
    timeOrigin,
    viewStart: timeOrigin + of.start,
    sampleInterval,
    requestedInterval: numberOf('interval', INTERVAL_MS),
    sampleRate: of.rate,
    reason,
    navigation: of.navigation,
    isolated: crossOriginIsolated,
    device: {
      memory: navigator.deviceMemory,
      cores: navigator.hardwareConcurrency,
      mobile: navigator.userAgentData && navigator.userAgentData.mobile,
    },
    cost: { ms },
    tags,
    marks: takeMarks(Math.max(of.start, marksFrom), end),
    trace,
  });
}

/** Says why a constructor threw: the header is missing, or was lost on the way, or something else. */
export function fail(error: unknown): void {
  const isRefused = error && (error as Error).name === 'NotAllowedError';
  giveUp(isRefused ? (header.get('on') ? 'header-lost' : 'no-header') : 'constructor', error);
}

/** Makes a new profiler, or the stub's, the current one; none if nothing is to be recorded now. */
function construct(): void {
  if (view && view.isDrawn && now() >= quietUntil && ageOf(view) < durationMs() - EARLY_MS) {
    try {
      const made = early || new window.Profiler!({
        sampleInterval: numberOf('interval', INTERVAL_MS),
        maxBufferSize: numberOf('buffer', BUFFER_SAMPLES),
      });
      early = undefined;
      profiler = made;
      made.addEventListener('samplebufferfull', counted(() => {
        if (profiler === made) {
          cut('samplebufferfull', true);
        }
      }));
    } catch (error) {
      fail(error);
    }
  }
}

/** Returns the ms for which a view has been recorded. */
function ageOf({ since }: View): number {
  return now() - since;
}

function durationMs(): number {
  return numberOf('duration', DURATION_MS);
}

/** Ends the chunk. `goesOn` with the next one, of the same view or of `next`. */
function cut(reason: Reason, goesOn?: boolean, next = view): void {
  const old = profiler;
  const of = view;
  const end = now();
  clearTimeout(timer);
  profiler = undefined;
  view = next;
  if (goesOn) {
    construct();
  }
  if (old && of) {
    const seq = of.seq++;
    const isDue = !profiler || end - of.since < EAGER_MS || end - sentAt > EAGER_MS;
    if (isDue) {
      sentAt = end;
    }
    old.stop().then(counted((trace) => {
      if (now() < mutedUntil) {
        return;
      }
      add(of.id, write(of, seq, reason, old.sampleInterval, end, trace), isDue);
      if (isLeaving) {
        flush(true);
      }
    })).catch(() => {}); // an unhandled rejection would show up in the page's own error reports
  }
  if (profiler && view) {
    const age = ageOf(view) + EARLY_MS;
    const until = CHUNK_ENDS_MS.filter((ms) => ms > age)[0] || age - (age % CHUNK_MS) + CHUNK_MS;
    timer = setTimeout(endChunk, Math.min(until, durationMs()) - ageOf(view));
  }
}

const endChunk = counted(() => {
  const isQuiet = isOn('interactions') && document.readyState === 'complete' && now() - inputAt > INTERACTION_MS;
  cut('timer', !isQuiet);
});

function begin(navigation: Navigation, start: number, page?: string): void {
  path = location.pathname;
  formerBegunAt = begunAt;
  begunAt = now();
  const rate = rateOf(page || path);
  const next: View = {
    id: newViewId(),
    navigation,
    rate: rate * Number(header.get('rate') || 1),
    isDrawn: Math.random() < rate,
    url: location.href,
    page,
    start,
    since: early ? start : now(),
    seq: 0,
    spent: 0,
    told: 0,
  };
  resetMarks();
  if (next.isDrawn) {
    watchMarks(moveStart);
  }
  cut('route', true, next);
  drop(early); // of a view that is not drawn
  early = undefined;
  if (!next.isDrawn) {
    log('no trace, rate');
  }
}

/** The browser tells late when a route's interaction began. What has been sent by then stays as it is. */
function moveStart(start: number): void {
  if (view && view.navigation === 'route' && !view.seq && start > formerBegunAt) {
    view.start = Math.min(view.start, start);
  }
}

/** The page's own word for its route. Another one than before begins a view. */
export function setPage(page: string): void {
  if (view && !view.seq && !view.page) {
    view.page = page;
  } else if (view && view.page !== page) {
    begin('route', now(), page);
  }
}

export function setTags(value: unknown): void {
  tags = JSON.parse(JSON.stringify(value)); // throws here rather than in each chunk
}

/** `isGone`: a cache may bring the document back, as another view. */
function leave(reason: Reason, isGone?: boolean): void {
  isLeaving = true;
  cut(reason);
  if (isGone) {
    leftPage = view && view.page;
    view = undefined;
  }
  flush(true);
}

function on<E extends Event>(target: EventTarget, type: string, run: (event: E) => void): void {
  target.addEventListener(type, counted(run as (event: Event) => void), true);
}

/** Begins with the view that the document's load began. `stubs` is the stub's profiler; marks are from `from` on, ms. */
export function record(stubs: Profiler | undefined, from: number): void {
  early = stubs;
  marksFrom = from;
  onAnswer(hear);
  on(window, 'beforeunload', () => cut('beforeunload', true));
  on(document, 'freeze', () => leave('freeze'));
  on(window, 'pagehide', () => leave('pagehide', true));
  on(document, 'visibilitychange', () => (document.hidden ? leave('hidden') : resume()));
  on<PageTransitionEvent>(window, 'pageshow', ({ persisted }) => {
    if (persisted) {
      isLeaving = false;
      begin('bfcache', now(), leftPage);
    }
  });
  if (window.navigation) {
    on(window.navigation, 'currententrychange', () => {
      if (location.pathname === path) {
        return;
      }
      if (view && view.page && !view.seq && ageOf(view) < RENAME_MS) {
        path = location.pathname; // the page named its route just before it went there
        view.url = location.href;
      } else {
        begin('route', now());
      }
    });
  }
  if (isOn('interactions')) {
    for (const type of ['pointerdown', 'keydown']) {
      on(window, type, () => {
        inputAt = now();
        resume();
      });
    }
  }
  on<SecurityPolicyViolationEvent>(document, 'securitypolicyviolation', ({ blockedURI, disposition }) => {
    if (disposition === 'enforce' && endpoint.split('?')[0] === blockedURI.split('?')[0]) {
      mute(Infinity);
      miss('csp');
    }
  });
  const activated = (load && load.activationStart) || 0;
  const type = load && load.type !== 'navigate' ? load.type : 'load';
  const page = settings.page || header.get('page') || undefined;
  counted(() => begin(activated ? 'prerender' : type, activated, page as string | undefined))(0);
}
