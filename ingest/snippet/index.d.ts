/** What a page can set. Each is explained in docs/snippet.md, under the attribute `data-…` of the same name. */
export interface Options {
  /** The project's public key. */
  readonly key: string;
  /** Where to post: `https://fieldflame.example/ingest/v1/traces`. */
  readonly endpoint: string;
  /** The build that the page runs. Without it, the one that the page's server announced by `Server-Timing`. */
  readonly release?: string;
  /** Where the code runs, such as `staging`. Without it, production. */
  readonly environment?: string;
  /** Route template of the page that was loaded, such as `/product/:id`. */
  readonly page?: string;
  /** Share of page views to record, 0 to 1. */
  readonly rate?: number;
  /** How long to record a page view, in ms. */
  readonly duration?: number;
  /** Wanted time between samples, in ms. */
  readonly interval?: number;
  /** Samples that one chunk may hold. */
  readonly buffer?: number;
  /** Share of a page view's time that the snippet may take of the main thread. */
  readonly budget?: number;
  /** After the load, record only around interactions. */
  readonly interactions?: boolean;
  /** Record nothing until `fieldflame('consent')`. */
  readonly consent?: boolean;
  /** Record nothing if the browser sends Global Privacy Control. */
  readonly gpc?: boolean;
  /** Record on localhost too. */
  readonly localhost?: boolean;
  /** Count a browser that a program drives as what it is otherwise, for a laboratory. */
  readonly bots?: boolean;
  /** Send an id of the tab and day. The browser keeps it in the session storage, which some visitors must agree to. */
  readonly session?: boolean;
  /** Share of the views without a recording that tell the server why. */
  readonly absent?: number;
  /** Say in the console why there is no trace, and what the server answered. */
  readonly debug?: boolean;
}

/** Records this page. A second call does nothing. Never throws. */
export function start(options: Options): void;

/** Names the page's route. Another one than before begins a view. */
export function fieldflame(command: 'page', route: string): void;
/** Up to 20 short texts, which are sent with all following chunks. */
export function fieldflame(command: 'tags', tags: readonly string[]): void;
/** Gives the id of the page view's trace in a tracing system, or its `traceparent`. */
export function fieldflame(command: 'trace', id: string): void;
/** The visitor agrees; or the recording ends, or begins again. */
export function fieldflame(command: 'consent' | 'stop' | 'start'): void;
