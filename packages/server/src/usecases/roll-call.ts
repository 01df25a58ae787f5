/** Who is there, by name and until when: for a store that only this process has. */
export interface RollCall {
  /** `forUs` 0: it leaves. How many are there, it among them. */
  (name: string, member: string, forUs: number): number;
}

/** Names kept at once; beyond it the oldest are forgotten, and are thought to be one alone. */
const mostNames = 10_000;
const mostMembers = 100_000;

export function rollCall(nowUs: () => number): RollCall {
  const rooms = new Map<string, Map<string, number>>();
  return (name, member, forUs) => {
    const now = nowUs();
    const room = rooms.get(name) ?? new Map<string, number>();
    for (const [who, until] of room) if (until <= now) room.delete(who);
    if (forUs === 0) room.delete(member);
    else if (room.has(member) || room.size < mostMembers) room.set(member, now + forUs);
    // The last to be asked for is the last to be forgotten.
    rooms.delete(name);
    if (room.size > 0) rooms.set(name, room);
    const [oldest] = rooms.size > mostNames ? rooms.keys() : [];
    if (oldest !== undefined) rooms.delete(oldest);
    return room.size;
  };
}
