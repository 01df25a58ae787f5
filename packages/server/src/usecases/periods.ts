import type { Decision } from 'headgate';

/** When the period of a quota's decision ends, in milliseconds since 1970: whole seconds, as all borders of periods are. */
export const periodEndOf = ({ decidedAt, resetAfterMs }: Decision): number => Math.round((decidedAt / 1000 + resetAfterMs) / 1000) * 1000;
