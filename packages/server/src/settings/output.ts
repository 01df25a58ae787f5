import { switchSetting } from './setting.js';

export const jsonSetting = switchSetting({ name: 'json', help: 'one JSON document, for programs' });
