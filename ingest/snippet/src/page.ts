/** The page that is recorded: its settings, and what its own server and Fieldflame's said. A page has one of each. */

import type { Profiler } from './profiler';

/** What a page can set. The attributes `data-…` have the same names. */
export interface Options {
  readonly key: string;
  /** The build that the page runs. Without it, the one that the page's server announced by `Server-Timing`. */
  readonly release?: string;
  /** Where the code runs, such as `staging`. Without it, production. */
  readonly environment?: string;
  /** Where to post: `https://fieldflame.example/ingest/v1/traces`. */
  readonly endpoint?: string;
  /** Route template, such as `/product/:id`; without one the server derives it from the URL. */
  readonly page?: string;
  /** Share of page views to record, 0 to 1. A value that is no number records none. */
  readonly rate?: number | string;
  /** Wanted time between samples in ms. */
  readonly interval?: number | string;
  /** How long to record a view, in ms. */
  readonly duration?: number | string;
  /** Samples that one chunk may hold. */
  readonly buffer?: number | string;
  /** Share of a view's time that the snippet may take of the main thread. */
  readonly budget?: number | string;
  /** `slow`: only what ran around slow moments is sent, of most views. Of the full core, as the next two are. */
  readonly keep?: 'slow' | 'all';
  /** Share of the recorded views that are sent whole all the same. */
  readonly whole?: number | string;
  /** Share of the views that tell how soon the page was there, with the header and without. */
  readonly experiment?: number | string;
  /** Share of the views without a recording that tell the server why. */
  readonly absent?: number | string;
  /** After the load, record only around interactions. */
  readonly interactions?: boolean | string;
  /** Record nothing until the page calls `fieldflame('consent')`. */
  readonly consent?: boolean | string;
  /** Record nothing if the browser sends Global Privacy Control. */
  readonly gpc?: boolean | string;
  /** Record on localhost too. */
  readonly localhost?: boolean | string;
  /** Count a browser that a program drives as what it is otherwise, for a laboratory. */
  readonly bots?: boolean | string;
  /** Send an id of the tab and day, which the session storage keeps. */
  readonly session?: boolean | string;
  /** Say in the console what happens. */
  readonly debug?: boolean | string;
}

/** What the server says by a project's core script, `/snippet/KEY.js`. It replaces the page's own settings. */
interface ServerWord {
  readonly off?: boolean;
  /** Share by page: the first expression that matches the route or path. */
  readonly pages?: readonly (readonly [string, number])[];
}

declare const BARE: boolean;

type Settings = Partial<Record<keyof Options, unknown>> & ServerWord;

export let settings: Settings;
/** What the page's server announced: `Server-Timing: ff;desc="rate=0.1;on=1;release=1.4.2;page=/product/:id"`. */
export let header: Record<string, string>;
export let load: PerformanceNavigationTiming | undefined;
/** Where traces go, with the key. */
export let endpoint: string;
/** The address of the snippet's own script; none in a bundle. */
export let script: string | undefined;

/** Returns a number of the settings; an absent or empty one means the default. */
export const numberOf = (name: 'rate' | 'interval' | 'duration' | 'buffer' | 'budget' | 'absent' | 'whole' | 'experiment', otherwise: number): number =>
  Number(`${settings[name] ?? ''}` || otherwise);

/** Returns whether something is switched on. An attribute without a value is. */
export const isOn = (name: 'interactions' | 'consent' | 'gpc' | 'localhost' | 'bots' | 'session' | 'debug'): boolean =>
  `${settings[name] ?? 'false'}` !== 'false';

/** Returns the share of the views of a page that are recorded; the endpoint accepts none above 1. */
export const rateOf = (page: string): number => Math.min(
  (BARE ? undefined : settings.pages?.find(([pattern]) => RegExp(pattern).test(page))?.[1]) ?? numberOf('rate', 1),
  1,
);

/**
 * Takes the settings: the script's or the bundle's, then the server's `word`, if it is one. By default the traces go
 * to `path` on the server of the script, whose address is `source`. Throws an Error if no address can be made.
 */
export const readPage = (options: Partial<Options>, source?: string, word?: unknown, path?: string): void => {
  load = performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming | undefined;
  if (!BARE) {
    script = source;
    const announced = load?.serverTiming?.find(({ name }) => name === 'ff')?.description.replace(/;/g, '&');
    header = Object.fromEntries(new URLSearchParams(announced));
  }
  // The placeholder is a text, whose characters get numbers for names and harm nobody.
  settings = BARE ? options : Object.assign({ release: header.release, page: header.page }, options, word);
  const { endpoint: own, key } = options;
  const url = new URL((BARE ? own : own || path)!, BARE || own ? document.baseURI : source);
  url.searchParams.append('key', key!);
  endpoint = `${url}`;
};

/**
 * Returns whether most of the page's script came from a cache; undefined if the browser tells no sizes: of other
 * origins without `Timing-Allow-Origin`, and where a server confirmed what a cache has.
 */
export const readCache = (): string | undefined => {
  const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
  const balance = entries.reduce(
    (sum, { decodedBodySize: size, initiatorType, transferSize }) =>
      sum + (initiatorType === 'script' ? (transferSize ? -size : size) : 0),
    0,
  );
  return balance ? (balance < 0 ? 'cold' : 'warm') : undefined;
};

/** Returns what the page's server said of its own trace of the request, as tracing systems have it. */
export const readTrace = (): string | undefined =>
  load?.serverTiming?.find(({ name }) => name === 'traceparent')?.description
    ?? document.querySelector<HTMLMetaElement>('meta[name=traceparent]')?.content;

export const now = (): number => performance.now();

/** Says in the console what happens, if that is wanted. */
export const log = (text: unknown): void => {
  if (isOn('debug')) {
    console.info('fieldflame:', text);
  }
};

const ABSENT_RATE = 0.01;

/** Tells the server, for a share of pages and once, why nothing is recorded. No id, no time. */
export const miss = (reason: string, error: unknown = ''): void => {
  log(`no trace, ${reason} ${error}`);
  const rate = numberOf('absent', ABSENT_RATE);
  if (Math.random() < rate) {
    settings.absent = 0; // once
    const facts = new URLSearchParams({
      rate,
      reason,
      release: settings.release,
      url: location.origin + location.pathname,
    } as Record<string, any>);
    const address = endpoint.replace(/traces\/?\?/, 'absent?') + '&' + facts;
    if (reason === 'csp') {
      new Image().src = address; // a policy that stops the connection may still let an image pass
    } else {
      fetch(address, { credentials: 'omit', keepalive: true }).catch(() => {});
    }
  }
};

/** Ends a profiler that nobody needs. */
export const drop = (profiler: Profiler | undefined): undefined => {
  profiler?.stop().catch(() => {});
};
