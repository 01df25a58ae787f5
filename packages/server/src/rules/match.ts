/** A request as rules match it. */
export interface Asked {
  readonly method: string;
  readonly segments: readonly string[];
}

/** Which requests a rule is for. */
export type Match = (asked: Asked) => boolean;

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    // An encoded slash stays encoded: it is part of a segment's text, not a border.
    return decodeURIComponent(segment.replace(/%2f/gi, '%252F'));
  } catch {
    return segment;
  }
}

/**
 * A request's path as patterns see it: without the query, percent-decoded once (but for %2F), empty and dot segments resolved. So
 * `/a/../search`, `//search`, `/%73earch` and `/search/` cannot slip past a rule for `/search`. Case counts. A slash at the end
 * (also of `/.` and `/..`) is kept as an empty last segment, which only `/*` sees.
 */
export function segmentsOf(target: string): string[] {
  // A request line may hold a whole URL (RFC 9112, absolute-form).
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  const segments: string[] = [];
  const parts = path.split('/');
  for (const [index, part] of parts.entries()) {
    const segment = decode(part);
    const isLast = index === parts.length - 1;
    if (segment === '..') segments.pop();
    if (segment !== '' && segment !== '.' && segment !== '..') segments.push(segment);
    else if (isLast && segments.length > 0) segments.push('');
  }
  return segments;
}

function compilePath(pattern: string): (segments: readonly string[]) => boolean {
  const parts = pattern.replace(/^\//, '').split('/');
  const below = parts.at(-1) === '*';
  if (below || parts.at(-1) === '') parts.pop();
  const stray = parts.find((part) => part.includes('*') || ['', '.', '..', ':'].includes(part));
  if (stray !== undefined) {
    throw new Error(
      `match.path: ${JSON.stringify(pattern)} has the segment ${JSON.stringify(stray)}; "*" stands only at the end, ":" needs a name, and no segment is empty or dots`,
    );
  }
  if (/[?#]/.test(pattern))
    throw new Error(`match.path: ${JSON.stringify(pattern)} has a query; only the path is matched, so leave it out`);
  const names = parts.map((part) => (part.startsWith(':') ? undefined : decode(part)));
  return (segments) => {
    const length = segments.at(-1) === '' ? segments.length - 1 : segments.length;
    if (below ? segments.length <= names.length && names.length > 0 : length !== names.length) return false;
    return names.every((name, index) => (name === undefined ? segments[index] !== '' : name === segments[index]));
  };
}

/**
 * Compiles a match. `/foo/*` matches everything below `/foo/`, not `/foo` nor `/foobar`, and `/*` everything; `:name` matches one
 * segment; a slash at the end of a path does not matter. `GET` covers `HEAD`, which asks for the same work. Without a path or method, any.
 */
export function compileMatch({ method, path }: { method?: string | readonly string[] | undefined; path?: string | undefined }): Match {
  const methods =
    method === undefined ? undefined : new Set((typeof method === 'string' ? [method] : method).map((name) => name.toUpperCase()));
  if (methods?.has('GET')) methods.add('HEAD');
  const matchesPath = path === undefined ? undefined : compilePath(path);
  return (asked) =>
    (methods === undefined || methods.has(asked.method.toUpperCase())) && (matchesPath === undefined || matchesPath(asked.segments));
}
