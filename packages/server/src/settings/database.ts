import { userInfo } from 'node:os';
import { databaseSetting } from './serve.js';
import { flagOnly, last, needed, setting, textOr } from './setting.js';

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

const neededDatabase = needed({ ...databaseSetting, help: 'sqlite:PATH or postgres://...' }, 'sqlite:/var/lib/headgate/rules.db');

/** Of commands that look into the database. */
export const readingSettings = { database: neededDatabase };

/** Of commands that change what is in it. */
export const writingSettings = {
  ...readingSettings,
  author: setting({
    name: 'author',
    placeholder: 'NAME',
    help: 'who does it',
    fallback: 'the user of the system',
    read: (given) => last(given) ?? systemUser(),
  }),
};

export const reasonSetting = flagOnly(textOr({ name: 'reason', placeholder: 'TEXT', help: 'why, for the history', fallback: '' }));
