import type { OnEvent } from 'headgate';
import type { Logger } from './logger.js';

/** What the limiter tells of itself, as log lines: one for each change of state. */
export const logEvents =
  (logger: Logger): OnEvent =>
  ({ type, shard, message }) =>
    logger[type === 'available' ? 'info' : 'warn']({ event: type, shard }, message);
