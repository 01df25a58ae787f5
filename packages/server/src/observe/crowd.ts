/** The keys of a minute beside those of the hour before it. */
export interface Crowd {
  /** Checks of the minute. */
  readonly checks: number;
  /** Different keys: of the minute, of the hour before it, and of both together. */
  readonly keys: number;
  readonly keysBefore: number;
  readonly keysTogether: number;
  /** Checks of both together. */
  readonly checksTogether: number;
  /** Different keys in a quiet minute of the last hour; undefined: no minute is known. */
  readonly quiet: number | undefined;
  /** Relative error that an estimate of keys will hardly have. */
  readonly error: number;
}

/** From where on a crowd is told. In the reasons it is said what was found. */
export const crowdBounds = {
  /** Different keys in a minute. Fewer harm nobody. */
  keys: 10_000,
  /** Times a quiet minute's. */
  growth: 4,
  /** The part of the minute's keys that the hour before did not see. */
  fresh: 0.5,
  /** Checks per key, up to which keys are said not to come back. */
  checksPerKey: 2,
  /** The same two where nothing is known of the hour before. */
  keysUnknown: 100_000,
  checksPerKeyUnknown: 1.2,
} as const;

/** Many new keys: a `flood` if they do not come back, a `surge` if they do. */
export type CrowdKind = 'flood' | 'surge' | undefined;

/**
 * Whether most keys of the hour so far are new in this minute. A difference of two estimates says it only where it is larger than their
 * error; else, keys that are seen once in all the hour are new whenever they come.
 */
function isFresh({ keys, keysBefore, keysTogether, checksTogether, error }: Crowd): boolean {
  const fresh = keysTogether - keysBefore;
  if (fresh >= crowdBounds.fresh * keys && fresh > error * keysTogether) return true;
  return checksTogether <= crowdBounds.checksPerKey * keysTogether;
}

/** What kind of crowd a minute's keys are. Lasts most of an hour: what came in nine tenths of it is no news. */
export function crowdKind(crowd: Crowd): CrowdKind {
  const { checks, keys, quiet } = crowd;
  if (quiet === undefined) return keys >= crowdBounds.keysUnknown && checks <= crowdBounds.checksPerKeyUnknown * keys ? 'flood' : undefined;
  if (keys < crowdBounds.keys || keys < crowdBounds.growth * quiet || !isFresh(crowd)) return undefined;
  return checks <= crowdBounds.checksPerKey * keys ? 'flood' : 'surge';
}
