/** What INFO or CLUSTER INFO said: `name:value` lines. */
export type Info = ReadonlyMap<string, string>;

export function parseInfo(text: unknown): Info {
  const lines = typeof text === 'string' ? text.split(/\r?\n/) : [];
  return new Map(
    lines.flatMap((line) => (/^[^#:]+:/.test(line) ? [[line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]] : [])),
  );
}

/** A number of INFO; undefined if it is not there. */
export function numberIn(info: Info, name: string): number | undefined {
  const value = info.get(name);
  return value === undefined || value === '' || Number.isNaN(Number(value)) ? undefined : Number(value);
}

/** The parts of a value such as `ip=10.0.0.2,port=6379,state=online`. */
export function fieldsOf(value: string): Info {
  return new Map(value.split(',').map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]));
}

/** A flat list `name, value, name, value` as CONFIG and SENTINEL answer. */
export function pairsOf(list: unknown): Info {
  const flat = Array.isArray(list) ? list.map(String) : [];
  return new Map(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])));
}

export interface ReplicaLine {
  readonly host: string;
  readonly port: number;
  readonly state: string;
  /** Bytes of the replication stream that it has acknowledged. */
  readonly offset: number;
  /** Seconds since it last acknowledged; it does so once a second. */
  readonly lag: number;
}

/** The replicas that a master sees. */
export function replicasIn(info: Info): ReplicaLine[] {
  return [...info].flatMap(([name, value]) => {
    if (!/^slave\d+$/.test(name)) return [];
    const fields = fieldsOf(value);
    const [port, offset, lag] = ['port', 'offset', 'lag'].map((field) => Number(fields.get(field) ?? 0));
    return [{ host: fields.get('ip') ?? '', port: port ?? 0, state: fields.get('state') ?? '', offset: offset ?? 0, lag: lag ?? 0 }];
  });
}

/** Which server this is; `redis_version` alone is what others also claim to be compatible with. */
export function serverIn(info: Info): { readonly kind: string; readonly version: string } | undefined {
  const others = { valkey_version: 'Valkey', dragonfly_version: 'Dragonfly', garnet_version: 'Garnet', kvrocks_version: 'Kvrocks' };
  for (const [name, kind] of Object.entries(others)) {
    const version = info.get(name);
    if (version !== undefined) return { kind, version: version.replace(/^[^\d]+/, '') };
  }
  const version = info.get('redis_version');
  return version === undefined ? undefined : { kind: 'Redis', version };
}

/** Whether a dotted version is at least another. */
export function atLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [a = 0, b = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return a > major || (a === major && b >= minor);
}
