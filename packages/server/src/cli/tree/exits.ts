import type { Told } from '../command.js';

type Exits = NonNullable<Told['exits']>;

/** Of commands that ask a running service. */
export const serviceExits: Exits = [
  [65, 'the service does not take it: an unknown rule, for instance'],
  [69, 'no service answers there, or it cannot answer now'],
  [77, 'HEADGATE_TOKEN is missing, not known, or may not do this'],
];

/** Of commands that look into the database. */
export const databaseExits: Exits = [[1, 'the database cannot do it, or another change came first']];
