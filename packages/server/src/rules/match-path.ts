/** A path pattern: a text for each segment, undefined where any one is meant; and whether it is for all that lies below instead. */
export interface PathPattern {
  readonly segments: readonly (string | undefined)[];
  readonly below: boolean;
}

/** The pattern of a rule that names no path. */
export const anyPath: PathPattern = { segments: [], below: true };

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    // Of a segment alone, so that an encoded slash is part of its text and no border.
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** A request line may hold a whole URL (RFC 9112, absolute-form). */
const absolute = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)*([^/?#]*)/i;

/** The host and port that a target names, which then count instead of the field `Host`; undefined if it names none. */
export function authorityOf(target: string): string | undefined {
  return target.startsWith('/') ? undefined : absolute.exec(target)?.[1];
}

function pathOf(target: string): string {
  const start = target.startsWith('/') ? 0 : (absolute.exec(target)?.[0].length ?? 0);
  const query = target.indexOf('?');
  const path = query < 0 ? target.slice(start) : target.slice(start, query);
  const fragment = path.indexOf('#');
  return fragment < 0 ? path : path.slice(0, fragment);
}

/** Looks at one character before it compares: there may be thousands of segments. */
const isDots = (segment: string): boolean => segment.charCodeAt(0) === 46 && (segment === '.' || segment === '..');

function segmentsIn(path: string): string[] {
  const segments: string[] = [];
  const isEncoded = path.includes('%');
  const { length } = path;
  // Whether the part before was empty or dots: at the end that is a slash at the end.
  let isOpen = false;
  // On the path of every request: `split` takes four times as long.
  for (let from = 0; from <= length;) {
    const slash = path.indexOf('/', from);
    const to = slash < 0 ? length : slash;
    if (to === from) isOpen = true;
    else {
      const text = path.slice(from, to);
      const segment = isEncoded ? decode(text) : text;
      isOpen = isDots(segment);
      if (!isOpen) segments.push(segment);
      else if (segment.length === 2) segments.pop();
    }
    from = to + 1;
  }
  if (isOpen && segments.length > 0) segments.push('');
  return segments;
}

/**
 * A request's path as patterns see it: without the query, each segment percent-decoded once, empty and dot segments resolved. So
 * `/a/../search`, `//search`, `/%73earch` and `/search/` cannot slip past a rule for `/search`. Case counts. A slash at the end
 * (also of `/.` and `/..`) is kept as an empty last segment, which only `/*` sees.
 */
export const segmentsOf = (target: string): string[] => segmentsIn(pathOf(target));

/** The same where `..` takes an empty segment away, as it does in a URL. */
function urlSegmentsIn(path: string): string[] {
  const parts = path.replace(/^\//, '').split('/').map(decode);
  const kept: string[] = [];
  for (const part of parts) {
    if (!isDots(part)) kept.push(part);
    else if (part.length === 2) kept.pop();
  }
  const segments = kept.filter((part) => part.length > 0);
  const last = parts.at(-1) ?? '';
  if (segments.length > 0 && (last === '' || isDots(last))) segments.push('');
  return segments;
}

/**
 * All paths that a target may mean to the server behind. Servers that read it as a URL (WHATWG) take `\` for a slash, what follows `//` at the start
 * for a host, and `..` after `//` for the way back over nothing; no honest client sends any of them. The rules of every reading apply, so that none
 * takes a rule away.
 */
export function readingsOf(target: string): string[][] {
  const path = pathOf(target);
  const readings = [segmentsIn(path)];
  const isBackslashed = path.includes('\\');
  if (!isBackslashed && !path.includes('//')) return readings;
  const slashed = path.replaceAll('\\', '/');
  if (isBackslashed) readings.push(segmentsIn(slashed));
  if (slashed.includes('//')) readings.push(urlSegmentsIn(slashed));
  if (slashed.startsWith('//')) readings.push(urlSegmentsIn(slashed.replace(/^\/+[^/]*/, '')));
  return readings;
}

/**
 * Compiles a pattern: `:name` is any one segment, `/*` at the end all that lies below. What stands there otherwise is text, percent-decoded
 * as a request's is, so that `%3Aname` is the text `:name`.
 *
 * @throws Error naming the pattern, what is wrong with it and the mend
 */
export function compilePath(pattern: string): PathPattern {
  const parts = pattern.replace(/^\//, '').split('/');
  const below = parts.at(-1) === '*';
  if (below || parts.at(-1) === '') parts.pop();
  const stray = parts.find((part) => part.includes('*') || part === ':' || ['', '.', '..'].includes(decode(part)));
  if (stray !== undefined) {
    throw new Error(
      `match.path: ${JSON.stringify(pattern)} has the segment ${JSON.stringify(stray)}; "*" stands only at the end, ":" needs a name, and no segment is empty or dots`,
    );
  }
  if (/[?#]/.test(pattern))
    throw new Error(`match.path: ${JSON.stringify(pattern)} has a query; only the path is matched, so leave it out`);
  return { segments: parts.map((part) => (part.startsWith(':') ? undefined : decode(part))), below };
}
