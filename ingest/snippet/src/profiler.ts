/** The browser's interfaces that TypeScript's DOM library does not have. Only Chromium has them. */

export interface ProfilerTrace {
  readonly frames: readonly unknown[];
  readonly resources: readonly string[];
  readonly samples: readonly unknown[];
  readonly stacks: readonly unknown[];
}

export interface Profiler extends EventTarget {
  /** Effective interval in ms: the requested one, rounded up to a multiple of the browser's base. */
  readonly sampleInterval: number;
  stop(): Promise<ProfilerTrace>;
}

export type Command = 'page' | 'tags' | 'consent' | 'stop' | 'start';
export type Call = [command: Command, value?: unknown];

/** The page's function `fieldflame`. The inline stub leaves in it what the core takes over. */
export interface Api {
  (...words: Call): void;
  /** The stub's profiler, or the error of its constructor. */
  p?: Profiler;
  e?: unknown;
  /** The calls that came before the core. */
  q?: Call[];
  /** The core is here. */
  readonly core?: true;
}

declare global {
  interface Window {
    readonly Profiler?: new (options: { sampleInterval: number; maxBufferSize: number }) => Profiler;
    /** Sends a request when the document is gone, unless it is taken back. */
    readonly fetchLater?: (url: string, request: RequestInit) => unknown;
    fieldflame?: Api;
    readonly fieldflameSettings?: Record<string, unknown>;
  }
  interface Document {
    readonly prerendering?: boolean;
  }
  interface Navigator {
    readonly deviceMemory?: number;
    readonly userAgentData?: { readonly mobile: boolean };
    readonly globalPrivacyControl?: boolean;
  }
  interface PerformanceNavigationTiming {
    readonly activationStart?: number;
  }
}
