import type { Info } from './info.js';
import type { Address, Target } from './node.js';

/** What a bounded SCAN saw of one server's keys. */
export interface KeySample {
  readonly sampled: number;
  /** Whether that were all keys. */
  readonly complete: boolean;
  readonly ours: number;
  /** Of ours, those that never expire. */
  readonly lasting: number;
  readonly foreign: number;
  /** What the foreign ones most often begin with, where that is a plain word. */
  readonly beginnings: readonly string[];
}

/** A server's clock less ours, in milliseconds; it may be off by `within`. */
export interface ClockReading {
  readonly offsetMs: number;
  readonly withinMs: number;
}

/** A command that Headgate needs and that was refused. */
export interface Refused {
  /** As a rule of an ACL: `+evalsha`, `~hg:2{*`. */
  readonly rule: string;
  /** Renamed or disabled: no rule of an ACL brings it back. */
  readonly missing: boolean;
}

export interface Access {
  readonly user: string | undefined;
  readonly tried: number;
  readonly refused: readonly Refused[];
}

/** A command that the slow log kept: its name only, as its arguments may be secret. */
export interface SlowCommand {
  readonly name: string;
  readonly ms: number;
  readonly ageSeconds: number;
}

export interface Unread {
  readonly what: string;
  readonly fault: string;
}

/** Raw facts of one server. What is absent could not be read. */
export interface NodeFacts {
  readonly name: string;
  readonly role: 'master' | 'replica';
  /** The name of the master that a replica follows. */
  readonly master?: string;
  /** It could not be asked at all. */
  readonly fault?: string;
  readonly info: Info;
  readonly config: Info;
  readonly keys?: KeySample;
  readonly access?: Access;
  readonly slow?: readonly SlowCommand[];
  readonly database?: 'ok' | 'refused';
  readonly unread: readonly Unread[];
  /** Round trips in milliseconds. */
  readonly trips?: readonly number[];
  readonly clock?: ClockReading;
  /** Checks through the library: their times in milliseconds, and the faults of those that failed. */
  readonly checks?: { readonly times: readonly number[]; readonly faults: readonly string[] };
}

/** One line of CLUSTER NODES. */
export interface ClusterMember extends Address {
  readonly id: string;
  readonly name: string;
  readonly flags: readonly string[];
  /** The id of the master that it follows. */
  readonly follows: string | undefined;
  readonly linked: boolean;
  /** Pairs of first and last slot. */
  readonly slots: readonly (readonly [number, number])[];
}

export interface ClusterFacts {
  readonly info: Info;
  readonly members: readonly ClusterMember[];
}

export interface SentinelFacts {
  readonly master: Info;
  readonly replicas: readonly Info[];
  /** Whether enough sentinels are there to agree on a failover. */
  readonly quorum: 'ok' | 'lost' | undefined;
}

/** Everything that was read. */
export interface Facts {
  readonly target: Target;
  readonly prefix: string;
  readonly deadlineMs: number;
  readonly nodes: readonly NodeFacts[];
  readonly cluster?: ClusterFacts;
  readonly sentinel?: SentinelFacts;
  /** Addresses of the URL that did not answer, while others did. */
  readonly silent: readonly Unread[];
}
