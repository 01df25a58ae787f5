/** The service, for those who start it from a program of their own. */
export { sampleRules, startApp, type App } from './app.js';
export { readConfig, SettingError, type Config, type RedisAddress, type RedisServer } from './config.js';
export { RulesError, type Fault } from './rules/faults.js';
export { rulesJsonSchema } from './rules/schema.js';
