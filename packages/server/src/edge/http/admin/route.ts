import type { z } from 'zod';
import type { Role } from '../../../rules/records.js';
import { wholeQuery } from '../bodies.js';

export { keyParam, nameParam } from '../bodies.js';
export { roles, type Role } from '../../../rules/records.js';

/** Who asks, by the name of the token, and what he sent, read by the route's schemas. */
export interface Asked<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly who: string;
  /** The version that the caller saw, by `If-Match`; undefined if it was not sent. */
  readonly base: number | undefined;
}

/** What a route answers: JSON, or nothing (204). */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** An endpoint of the admin API: from this the route is made, and its part of the OpenAPI document. */
export interface Route {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** As OpenAPI writes it: `/rules/{name}`. */
  readonly path: string;
  /** Where it is served too. */
  readonly alias?: string;
  readonly role: Role;
  /** One line. */
  readonly summary: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Whether `If-Match` with a version must be sent: who edits says what he saw. */
  readonly needsBase?: true;
  /** Of a body. */
  readonly example?: unknown;
  /** Whether the answer has the version as its `ETag`. */
  readonly tellsVersion?: true;
  /** What it answers if all is well; without a schema nothing. */
  readonly answer?: z.ZodType;
  readonly status?: number;
  readonly run: (asked: Asked<never, never, never>) => Promise<Answer>;
}

type Of<S> = S extends z.ZodType ? z.infer<S> : undefined;

interface Typed<P extends z.ZodObject | undefined, Q extends z.ZodObject | undefined, B extends z.ZodType | undefined> extends Omit<
  Route,
  'params' | 'query' | 'body' | 'run'
> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly run: (asked: Asked<Of<P>, Of<Q>, Of<B>>) => Promise<Answer>;
}

/** A route whose handler has the types of its schemas. */
export const route = <
  P extends z.ZodObject | undefined = undefined,
  Q extends z.ZodObject | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(
  typed: Typed<P, Q, B>,
): Route => typed as unknown as Route;

/** Records who did what, where the database does not do so itself. Never rejects: what is done is done. */
export type RecordAct = (act: { readonly by: string; readonly what: string; readonly detail: object }) => Promise<void>;

/** What was asked for by name is not there. */
export class UnknownNameError extends Error {
  override readonly name = 'UnknownNameError';
}

/** A time as JSON has it, of milliseconds since 1970. */
export const timeOf = (ms: number): string => new Date(ms).toISOString();

/** More than any of a database. */
const mostRows = 9_007_199_254_740_991;
export const versionQuery = wholeQuery(0, mostRows);

/** A page of a list, the newest first. */
export const pageQuery = { limit: wholeQuery(1, 200).default(50), before: versionQuery.optional() };
