import { periodAt, type Decision, type QuotaLimit } from 'headgate';

/**
 * When the period of a quota's decision ends, in milliseconds since 1970: whole seconds, as all borders of periods are. Only of one that has
 * something used: else nothing is to be reset, and the limit tells (`endOf`).
 */
export const periodEndOf = ({ decidedAt, resetAfterMs }: Decision): number => Math.round((decidedAt / 1000 + resetAfterMs) / 1000) * 1000;

/** When the period of a limit ends in which a decision was made, in milliseconds since 1970, used or not. */
export const endOf = ({ decidedAt }: Decision, limit: QuotaLimit): number => periodAt(limit, decidedAt).endUs / 1000;
