/** The page's own timings: what is kept of each entry, and which of them belong to a chunk. */

import { counted } from './cost';
import { moveStart } from './recorder';

export interface Mark {
  readonly type: string;
  readonly start: number;
  readonly duration: number;
  readonly [fact: string]: unknown;
}

type Entry = PerformanceEntry & Record<string, any>; // each type of entry has other facts

declare const BARE: boolean;

/**
 * How the types that are watched begin: `longtask`, `long-animation-frame`, `paint`, `largest-contentful-paint`,
 * `layout-shift`, `event`, `mark`, `measure`, `soft-navigation`.
 */
const TYPES = /^(l|m|p|ev|so)/;

/**
 * The facts that are kept, by the browser's names; `ours:theirs` renames. The first eight are those of a long frame's script,
 * and those from the seventh on are an entry's. Each that is read takes time.
 */
const FACTS = /* @__PURE__ */ ('url:sourceURL function:sourceFunctionName position:sourceCharPosition'
  + ' forced:forcedStyleAndLayoutDuration invoker invokerType start:startTime duration url size value hadRecentInput'
  + ' interactionId processingStart processingEnd'
  + ' blockingDuration renderStart styleAndLayoutStart').split(' ').map((fact) => fact.split(':'));
/** Of one view: the scripts of long frames, and the marks of each type: a page that sets many crowds out no long task. */
const MAX_SCRIPTS = 200;
const MAX_MARKS = 1e3;
/** Of `mark` and of `measure`. A page that sets one for each frame stays small. */
const MAX_TIMINGS = 500;
/** The first characters of a text, none of them halved, without query and fragment. */
const TEXT = /[^?#]{0,200}/u;
/** In ms, of interactions. */
const INTERACTION_MS = 40;

let marks: Mark[] = [];
let scriptsLeft: number;
/** By type. */
let counts: Record<string, number>;
/** How many marks of the view were more than its bounds. `-~` counts one more, from nothing on. */
export let marksDropped: number | undefined;
let observer: PerformanceObserver | undefined;
let watchedFrom: number;

/** Returns a text without query and fragment, and cut; other values as they are. */
const clean = (value: any): unknown => value?.match?.(TEXT)[0] ?? value;

const pick = (entry: Entry, facts: readonly string[][]): any =>
  Object.fromEntries(facts.map(([ours, theirs = ours]) => [ours, clean(entry[theirs!])]));

const keep = (entry: Entry): void => {
  const { entryType, name, startTime: start, duration } = entry;
  if (!BARE && entryType === 'soft-navigation') {
    moveStart(start);
  // An event without an interaction is a mere movement.
  } else if (BARE || (start + duration >= watchedFrom && entry.interactionId !== 0)) {
    if ((counts[entryType] = -~counts[entryType]!) <= (!BARE && entryType[0] === 'm' ? MAX_TIMINGS : MAX_MARKS)) {
      const element: Element | undefined = entry.target || entry.element;
      marks.push(BARE ? { type: entryType, start, duration } : {
        ...pick(entry, FACTS.slice(6)),
        type: entryType === 'event' ? 'interaction' : entryType === 'paint' ? name : entryType,
        name: /^[em]/.test(entryType) ? clean(name) : undefined, // of events, marks and measures; others have no own
        target: element && element.localName + (element.id && `#${element.id}`),
        // All of a frame's or none: what lies outside a frame's scripts counts as the engine's work.
        scripts: entry.scripts && (scriptsLeft -= entry.scripts.length) >= 0
          ? entry.scripts.map((script: Entry) => pick(script, FACTS.slice(0, 8)))
          : undefined,
      });
    } else if (!BARE) {
      marksDropped = -~marksDropped!;
    }
  }
};

/**
 * Begins a view, whose bounds are its own. The first time, watches from now on, with what the browser still knows of
 * after `from`, ms.
 */
export const watchMarks = (from: number): void => {
  scriptsLeft = MAX_SCRIPTS;
  counts = {};
  marksDropped = undefined;
  if (!observer) {
    watchedFrom = from;
    observer = new PerformanceObserver(counted((list: PerformanceObserverEntryList) => list.getEntries().forEach(keep)));
    if (BARE) {
      observer.observe({ type: 'longtask', buffered: true });
      return;
    }
    for (const type of PerformanceObserver.supportedEntryTypes) {
      if (TYPES.test(type)) {
        observer.observe({ type, buffered: true, durationThreshold: INTERACTION_MS } as PerformanceObserverInit);
      }
    }
  }
};

/** Returns the marks that began before `end` and did not end before `start`, ms. Those that go on are kept too. */
export const takeMarks = (start: number, end: number): Mark[] => {
  observer?.takeRecords().forEach(keep);
  const endingFrom = (from: number): Mark[] => marks.filter((mark) => mark.start + mark.duration >= from);
  const taken = endingFrom(start);
  marks = endingFrom(end);
  return taken.filter((mark) => mark.start < end);
};
