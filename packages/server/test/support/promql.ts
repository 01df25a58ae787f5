/** What an expression of PromQL asks of metrics. */
export interface Selected {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** The selectors of an expression. Strings are taken out first: they may hold anything. */
export function selectorsOf(expression: string): Selected[] {
  const bare = expression.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return [...bare.matchAll(/([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}/g)].map(([, metric = '', inner = '']) => ({
    metric,
    labels: [...inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }));
}

/** The labels that an expression groups by. */
export const groupedBy = (expression: string): string[] =>
  [...expression.matchAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, inner = '']) =>
    inner
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== ''),
  );

/** The labels of each metric in what Prometheus reads, by the name of its samples. */
export function exposed(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, inner = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const labels = found.get(name) ?? new Set();
    found.set(name, labels);
    for (const [, label = ''] of inner.matchAll(/(\w+)="/g)) labels.add(label);
  }
  return found;
}
