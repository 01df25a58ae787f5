import { domainToASCII } from 'node:url';

/** The longest name that DNS has. */
export const longestHost = 253;

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?';

/** A host as rules name it: a name in ASCII, or `*.` before one. */
export const hostPattern = new RegExp(String.raw`^(?:\*\.)?${label}(?:\.${label})*\.?$`);

/** Why a text is no host of a rule, with the mend; of nothing what a host is. */
export function hostFault(text: string): string {
  const name = text.replace(/^\*\./, '');
  if (/[^\x20-\x7e]/.test(text)) {
    const ascii = domainToASCII(name);
    const mend = ascii === '' ? '"xn--..."' : JSON.stringify(text.slice(0, text.length - name.length) + ascii);
    return `an internationalized name is compared as requests carry it, as A-labels: write ${mend}`;
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || text.includes('/')) return 'write the host alone, without scheme and path';
  if (/^\[|:.*:/.test(text)) return 'an IPv6 address has many spellings, so rules name no such host; leave "host" out';
  if (text.includes(':')) return 'write the host without its port: the port of a request does not matter';
  if (text === '*') return 'for any host leave "host" out';
  if (text.includes('*')) return '"*" stands only at the start, as in "*.example.com": all names below example.com, not that name itself';
  return 'write a host name such as "api.example.com", or "*.example.com" for all names below it';
}

/**
 * A host as rules see it: in lower case, without port and without the dot at the end. Undefined for what no rule can name. Of `Host: a:80`,
 * `A.` and `[::1]:80` that is `a`, `a` and nothing.
 */
export function hostOf(text: string): string | undefined {
  const port = text.indexOf(':');
  let host = (port < 0 ? text : text.slice(0, port)).toLowerCase();
  if (host.endsWith('.')) host = host.slice(0, -1);
  return host === '' || host.length > longestHost ? undefined : host;
}

/** What a rule's host is found by: its name, or of `*.example.com` the ending `.example.com`. */
export function hostKey(pattern: string): string {
  return hostOf(pattern.replace(/^\*/, '')) ?? '';
}
