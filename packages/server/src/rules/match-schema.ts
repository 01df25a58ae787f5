import { z } from 'zod';
import { hostFault, hostPattern, longestHost } from './match-host.js';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const several = <T extends z.ZodType>(one: T) => z.array(one).min(1, 'write at least one, or leave the field out');

const method = z.string().regex(token, 'no HTTP method; write one such as GET');

const host = z
  .string()
  .regex(hostPattern, { error: ({ input }) => hostFault(String(input)) })
  .max(longestHost + 2, `a host has at most ${longestHost} characters`);

/** As a field carries it: without spaces around. */
const fieldValue = z
  .string()
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'write the exact value, in visible ASCII without spaces around, or "*" for any')
  .max(4096, 'a value has at most 4096 characters');

const fieldValues = several(fieldValue.refine((text) => text !== '*', '"*" stands alone: the field is there, with any value'));

function fieldError({ input }: { readonly input?: unknown }): string {
  const wrong = Array.isArray(input) ? (input as unknown[]).find((value) => typeof value !== 'string') : input;
  if (typeof wrong === 'number') return `a value is text; write "${wrong}" in quotes`;
  return 'write a value in quotes, a list of values, or "*" for any; that a field is absent cannot be asked: whoever adds it would leave the rule';
}

const mostFields = 16;

const header = z
  .record(z.string().regex(token), z.union([fieldValue, fieldValues], { error: fieldError }), {
    error: ({ code }) => (code === 'invalid_key' ? 'no name of a header field; write one such as x-client' : undefined),
  })
  .refine(
    (value) => Object.keys(value).length >= 1 && Object.keys(value).length <= mostFields,
    `name 1 to ${mostFields} header fields, or leave "header" out`,
  )
  .refine((value) => new Set(Object.keys(value).map((name) => name.toLowerCase())).size === Object.keys(value).length, {
    error: 'names of header fields are the same in any case; name each once, with a list of values',
  });

/** Where a request's plan comes from. */
export const planSource = z
  .string()
  .regex(
    /^header:[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
    "write header:<name>, of a field that the gateway sets; cookies and tokens are the client's own",
  );

const plan = z.string().regex(/^.{1,128}$/s, 'the name of a plan is 1 to 128 characters');

export const matchSchema = z
  .strictObject({
    method: z
      .union([method, several(method)], { error: 'write one HTTP method such as GET, or a list of them' })
      .optional()
      .describe('One or several; GET covers HEAD. Without it, any.'),
    path: z
      .string()
      .regex(/^\//, 'a path begins with "/"')
      .max(2048, 'a path has at most 2048 characters')
      .optional()
      .describe('Segments; ":name" stands for any one segment, a "/*" at the end for everything below. Without it, any.'),
    host: z
      .union([host, several(host)], { error: hostFault('') })
      .optional()
      .describe('One or several: a name, or "*.example.com" for all names below it, without port; case does not matter. Without it, any.'),
    header: header
      .optional()
      .describe('Fields by name, each with its exact value, a list of values, or "*" for any. All of them have to be there.'),
    plan: z
      .union([plan, several(plan)], { error: 'write the name of a plan, or a list of them' })
      .optional()
      .describe("One or several; identify.plan says what a request's plan is. Without it, any."),
  })
  .describe('Requests to the gate that this rule is for; without it, the rule is only asked for by name.');
