import { readFileSync } from 'node:fs';
import { durationOr, flagOnly, last, secretSetting, setting, textSetting, wholeSetting, type Given } from './setting.js';

const usual = 'http://127.0.0.1:8080';

/** A user, a password or a query may be secret. */
const shown = (url: string): string => (/^[\w.:/-]*$/.test(url) ? JSON.stringify(url) : 'another (not shown)');

function readUrl(given: Given, faults: string[]): URL {
  const text = last(given) ?? usual;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    faults.push(`${given.where}: expected a URL such as ${usual}; got ${shown(text)}`);
  else if (url.username !== '' || url.password !== '')
    faults.push(`${given.where}: expected no user and password in the URL; a token is set by HEADGATE_TOKEN (the value is not shown)`);
  else return url;
  return new URL(usual);
}

const plainToken = secretSetting({ name: 'token', least: 16, help: 'a token of the admin API; headgate token create makes one' });

/** Of commands that ask a running service. */
export const clientSettings = {
  url: setting({ name: 'url', placeholder: 'URL', help: 'the service that is asked', fallback: usual, read: readUrl }),
  token: {
    ...plainToken,
    read(given: Given, faults: string[]): string | undefined {
      const token = plainToken.read(given, faults)?.trim();
      if (token !== undefined && !/^[\x21-\x7e]*$/.test(token))
        faults.push(`${given.where}: expected one word of printable ASCII characters (the value is not shown)`);
      return token;
    },
  },
  ca: setting({
    name: 'ca',
    placeholder: 'FILE',
    help: 'certificates (PEM) that are trusted instead of those of the system',
    read(given, faults) {
      const file = last(given);
      if (file === undefined) return undefined;
      try {
        return readFileSync(file, 'utf8');
      } catch (error) {
        faults.push(`${given.where}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
        return undefined;
      }
    },
  }),
  timeout: durationOr({ name: 'timeout', within: ['100ms', '10m'], usual: '10s', help: 'how long an answer is waited for' }),
};

export const costSetting = flagOnly(wholeSetting({ name: 'cost', within: [1, 9_000_000_000], help: 'units', fallback: '1' }));

export const planSetting = flagOnly(
  textSetting({ name: 'plan', help: 'what the customer pays for, if it is not the plan that is stored' }),
);

export const ruleSetting = flagOnly(textSetting({ name: 'rule', placeholder: 'RULE', help: 'only this rule' }));
