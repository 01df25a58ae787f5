import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { systemClock, type Clock } from '../clock.js';
import { durationUs, type Duration } from '../duration.js';
import { ConfigError, inputError, rejectUnknownOptions, show } from '../errors.js';

/** Options of {@link deviceTokens}. */
export interface DeviceTokenOptions {
  /** At least 16 characters, the same on all servers. */
  readonly secret: string;
  /** How long a device is known for, `'400d'` by default (the longest that browsers keep a cookie). */
  readonly validFor?: Duration;
  /** For tests. */
  readonly clock?: Clock;
}

/** Tells devices on which an account has logged in before from all others. */
export interface DeviceTokens {
  /** A token for a device on which this account has just proven itself: to be set as a cookie, `HttpOnly; Secure; SameSite=Lax`. */
  issue(account: string): string;
  /** The device's id, if the token was issued for this account and is still valid; undefined otherwise. Never throws for a token. */
  verify(account: string, token: unknown): string | undefined;
}

/** Version, end of validity in seconds, the device's id, the signature. */
const shape = /^1\.([0-9a-z]{1,10})\.([\w-]{22})\.([\w-]{22})$/;

function assertAccount(account: unknown): void {
  // In UTF-8, accounts with lone surrogates would meet.
  if (typeof account === 'string' && account !== '' && account.isWellFormed()) return;
  throw inputError('HEADGATE_BAD_KEY', `deviceTokens: an account is non-empty, well-formed text; got ${show(account)}`);
}

/**
 * Device cookies, as OWASP describes them ("Slow Down Online Guessing Attacks with Device Cookies"): a login from a known device has limits of its
 * own, so that who guesses at an account from elsewhere cannot lock its owner out. A token is signed (HMAC-SHA-256, 128 bits) for one account
 * and kept nowhere; it is no proof of identity and replaces no password.
 *
 * @throws ConfigError naming the option
 * @example
 * ```ts
 * import { deviceTokens } from 'headgate/http';
 *
 * const devices = deviceTokens({ secret: 'at least sixteen characters' });
 * const token = devices.issue('alice@example.org');
 * const device = devices.verify('alice@example.org', token); // its id; undefined for another account
 * ```
 */
export function deviceTokens(options: DeviceTokenOptions): DeviceTokens {
  rejectUnknownOptions('deviceTokens', options, ['secret', 'validFor', 'clock']);
  const { secret, validFor = '400d', clock = systemClock() } = options;
  if (typeof secret !== 'string' || secret.length < 16) {
    throw new ConfigError('HEADGATE_BAD_OPTION', 'deviceTokens.secret: expected text of at least 16 characters (the value is not shown)');
  }
  const lasts = Math.floor(durationUs('deviceTokens.validFor', validFor) / 1e6);
  if (lasts < 1) throw new ConfigError('HEADGATE_BAD_OPTION', `deviceTokens.validFor: at least 1s; got ${show(validFor)}`);
  const key = Buffer.from(hkdfSync('sha256', secret, 'headgate', 'device tokens', 32));
  const now = (): number => Math.floor(clock.nowUs() / 1e6);
  const sign = (account: string, ends: string, id: string): Buffer =>
    createHmac('sha256', key).update(`${ends}.${id}.${account}`).digest().subarray(0, 16);

  return {
    issue(account) {
      assertAccount(account);
      const ends = (now() + lasts).toString(36);
      const id = randomBytes(16).toString('base64url');
      return `1.${ends}.${id}.${sign(account, ends, id).toString('base64url')}`;
    },
    verify(account, token) {
      assertAccount(account);
      const [, ends = '', id = '', given = ''] = typeof token === 'string' ? (shape.exec(token) ?? []) : [];
      if (id === '' || Number.parseInt(ends, 36) <= now()) return undefined;
      return timingSafeEqual(sign(account, ends, id), Buffer.from(given, 'base64url')) ? id : undefined;
    },
  };
}
