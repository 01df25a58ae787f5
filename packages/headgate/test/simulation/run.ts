import { rendezvous } from '../../src/stores/rendezvous.js';
import type { Group, GroupOutcome } from '../../src/stores/store.js';
import { isBroken, measures, type Measure } from './bounds.js';
import { Process, type World } from './fleet.js';
import { fingerprint, newHistory, type History } from './history.js';
import { keysFor, type KeySpec } from './keys.js';
import { Network } from './network.js';
import { seeded, withSeededMath, type Random } from './random.js';
import { Schedule } from './schedule.js';
import { Shard, type Sabotage } from './shard.js';

const [processes, shardCount, runUs] = [1500, 8, 10_000_000];

export interface RunResult {
  readonly seed: number;
  readonly history: History;
  readonly fingerprint: string;
  readonly measures: readonly Measure[];
  readonly broken: readonly Measure[];
}

/** Tells the history what windows there are, as the shards themselves see them. */
function hearing(history: History): (group: Group, answer: GroupOutcome) => void {
  return ({ checks, dry }, { now, outcomes }) => {
    history.storeCalls += 1;
    if (dry) return;
    checks.forEach(({ key }, index) => {
      const of = history.keys.get(key);
      const outcome = outcomes[index];
      if (of === undefined || outcome === undefined || outcome.taken === 0) return;
      of.firstAt ??= now;
      if (outcome.windowEnd !== undefined) of.windowEnds.add(outcome.windowEnd);
    });
  };
}

/** Processes come and go: each place in the fleet has one life after the other. */
class Places {
  readonly #world: World;
  readonly #up: boolean[] = [];
  readonly #now: (Process | undefined)[] = [];
  #lives = 0;
  upCount = 0;

  constructor(world: World, { churn, random }: { churn: number; random: Random }) {
    this.#world = world;
    for (let place = 0; place < processes; place += 1) {
      const startsAt = random.chance(churn) ? random.between(0, runUs) : 0;
      this.#start(place, startsAt);
      if (!random.chance(churn)) continue;
      const endsAt = random.between(startsAt, runUs);
      const isCrash = random.chance(0.6);
      world.schedule.at(endsAt, () => this.#end(place, isCrash));
      if (random.chance(0.7)) this.#start(place, endsAt + random.between(1000, 2_000_000));
    }
  }

  /** Undefined if it is down. A process that asks nothing costs nothing. */
  at(place: number): Process | undefined {
    if (this.#up[place] !== true) return undefined;
    const known = this.#now[place];
    if (known !== undefined) return known;
    const made = new Process(this.#world, place, (this.#lives += 1));
    this.#now[place] = made;
    return made;
  }

  #start(place: number, atUs: number): void {
    const up = (): void => {
      this.#up[place] = true;
      this.upCount += 1;
    };
    if (atUs === 0) up();
    else this.#world.schedule.at(atUs, up);
  }

  #end(place: number, isCrash: boolean): void {
    if (this.#up[place] !== true) return;
    const process = this.#now[place];
    this.#up[place] = false;
    this.upCount -= 1;
    this.#now[place] = undefined;
    if (process === undefined) return;
    if (isCrash) process.isUp = false;
    else process.leave();
  }
}

/** Lets checks of one key come, as they come in life: independent of each other, or in bursts. */
function traffic(spec: KeySpec, { schedule, random, places }: { schedule: Schedule; random: Random; places: () => Places }): void {
  const { users, skew, perSecond, mostCost, burstUs } = spec;
  let at = random.between(0, 20_000);
  const next = (): void => {
    const place = random.chance(skew) ? users[0] : random.pick(users);
    places()
      .at(place ?? 0)
      ?.check(spec, random.between(1, mostCost));
    at += random.gap(1e6 / perSecond);
    if (burstUs > 0 && Math.floor(at / burstUs) % 2 === 1) at = (Math.floor(at / burstUs) + 1) * burstUs;
    if (at < runUs) schedule.at(at, next);
  };
  schedule.at(at, next);
}

/** Runs 10 s of virtual time and looks at what was let through. What a seed does is fixed by the seed. */
export async function run(seed: number, sabotage?: Sabotage): Promise<RunResult> {
  const random = seeded(seed);
  const schedule = new Schedule();
  const specs = keysFor(random, processes);
  const history = newHistory(specs);
  const shards = Array.from({ length: shardCount }, () => new Shard(schedule, random.between(-5_000_000, 5_000_000), hearing(history)));
  const placeOf = rendezvous(shards.map((_, i) => ({ name: `s${i}`, weight: 1 })));
  // A quarter of the seeds has delays only, a quarter cuts, a quarter joins and crashes, a quarter everything.
  const [hasCuts, hasChurn] = [random.chance(0.5), random.chance(0.5)];
  const network = new Network({
    schedule,
    random,
    cuts: hasCuts ? random.between(3, 20) : 0,
    forUs: runUs,
    shards: shardCount,
    inOrder: random.chance(0.5),
  });
  const byName = new Map(
    specs
      .flatMap((spec) => [spec, ...(spec.with ? [spec.with] : [])])
      .map(({ name }) => [name, shards[Number(placeOf(name).slice(1))] as Shard]),
  );
  const world: World = {
    schedule,
    random,
    network,
    shards,
    history,
    shardOf: (key) => byName.get(key) as Shard,
    fleetSize: () => places.upCount,
    sabotage,
  };
  const places: Places = new Places(world, { churn: hasChurn ? random.pick([0.1, 0.4]) : 0, random });
  for (const spec of specs) traffic(spec, { schedule, random, places: () => places });
  await withSeededMath(random, () => schedule.run(runUs));
  const all = measures(history);
  return { seed, history, fingerprint: fingerprint(history), measures: all, broken: all.filter(isBroken) };
}
