import { ConfigError, show } from '../errors.js';
import { list, policyMember, retryAfter, stateMember, told, type Answered } from './headers.js';
import { draft6, draft7, draft8, xRateLimit } from './older-headers.js';

/**
 * How limits are told: by draft-ietf-httpapi-ratelimit-headers in its revision 11, 8, 7 or 6, or by `X-RateLimit-Limit`, `-Remaining` and
 * `-Reset`, whose reset is a number of seconds, or of seconds since 1970.
 */
export type HeaderFormat = 'draft-11' | 'draft-8' | 'draft-7' | 'draft-6' | 'x-ratelimit' | 'x-ratelimit-epoch';

type Fields = Record<string, string>;

const policyOfAnswer = (answered: Answered): string | undefined => policyMember(answered.decision.rule, answered.limit, answered);

/** Of those that are told. */
function policies(shown: readonly Answered[]): Fields {
  const field = list(shown, policyOfAnswer);
  return field === undefined ? {} : { 'RateLimit-Policy': field };
}

const writers: Readonly<Record<HeaderFormat, (answers: readonly Answered[]) => Fields>> = {
  'draft-11': (answers) => {
    const shown = told(answers);
    const states = list(shown, stateMember);
    const fields = policies(shown);
    if (states !== undefined) fields['RateLimit'] = states;
    return fields;
  },
  'draft-8': (answers) => ({ ...policies(told(answers)), ...draft8(answers) }),
  'draft-7': (answers) => draft7(answers, policyOfAnswer),
  'draft-6': (answers) => draft6(answers, policyOfAnswer),
  'x-ratelimit': (answers) => xRateLimit(answers, 'seconds'),
  'x-ratelimit-epoch': (answers) => xRateLimit(answers, 'epoch'),
};

/**
 * Validates how limits are to be told: one format, or a draft beside one kind of `X-RateLimit-*`, as two drafts would write the same fields.
 *
 * @throws ConfigError naming the format
 * @example
 * ```ts
 * import { headerFormats } from 'headgate/http';
 *
 * const formats = headerFormats(['draft-11', 'x-ratelimit-epoch']);
 * ```
 */
export function headerFormats(given: HeaderFormat | readonly HeaderFormat[]): readonly HeaderFormat[] {
  const formats = typeof given === 'string' ? [given] : given;
  const known = Object.keys(writers);
  if (!Array.isArray(formats)) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `headers: expected one of ${known.join(', ')}, or a list; got ${show(given)}`);
  }
  for (const format of formats) {
    if (!Object.hasOwn(writers, format as string))
      throw new ConfigError('HEADGATE_BAD_OPTION', `headers: expected one of ${known.join(', ')}; got ${show(format)}`);
  }
  const drafts = formats.filter((format: HeaderFormat) => format.startsWith('draft')).length;
  if (drafts > 1 || formats.length - drafts > 1) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `headers: at most one draft and one kind of X-RateLimit; got ${formats.join(', ')}`);
  }
  return formats as readonly HeaderFormat[];
}

/**
 * The response header fields that tell a client its limits: `RateLimit-Policy` ({@link policyHeader}), `RateLimit`
 * ({@link rateLimitHeader}), and on a refusal `Retry-After` ({@link retryAfter}), never before the `t` of a rule that refused.
 * Several rules make one field; formats that have room for one tell the one that binds most. For a group, pass each of its `decisions` with
 * its limit.
 *
 * @param formats - how, draft 11 by default; validated by {@link headerFormats}
 * @example
 * ```ts
 * import { createLimiter, tokenBucket } from 'headgate';
 * import { rateLimitFields } from 'headgate/http';
 *
 * const limit = tokenBucket({ capacity: 20, refill: '2/s' });
 * const limiter = createLimiter({ rules: { search: { limit } } });
 * const decision = await limiter.check('search', 'key42');
 * console.log(rateLimitFields([{ decision, limit }]));
 * // { 'RateLimit-Policy': '"search";q=20;w=10', RateLimit: '"search";r=19;t=10' }
 * ```
 */
export function rateLimitFields(answers: readonly Answered[], formats: readonly HeaderFormat[] = ['draft-11']): Record<string, string> {
  const wait = answers.every(({ decision }) => decision.allowed) ? undefined : retryAfter(answers.map(({ decision }) => decision));
  const [format] = formats;
  // What most requests are answered: no object but the one that is handed out.
  if (wait === undefined && format !== undefined && formats.length === 1) return writers[format](answers);
  const fields: Fields = wait === undefined ? {} : { 'Retry-After': wait };
  for (const format of formats) Object.assign(fields, writers[format](answers));
  return fields;
}
