import { checkable, rules } from './rules.mjs';

const everyMs = 1000;

/** Puts other rules in force again and again, as the service does when its rules file changes. */
export function reloads({ limiter, counts, remains }) {
  let generation = 0;
  let timer;
  let current;
  const reload = () => {
    if (current !== undefined) remains.letGo('rules', current.limiter);
    const given = rules(generation);
    current = { limiter: limiter.withRules(given), names: checkable(given) };
    generation += 1;
    counts.did('reload');
  };
  reload();
  return {
    inForce: () => current,
    start() {
      timer = setInterval(() => {
        try {
          reload();
        } catch (error) {
          counts.failed('reload', error);
        }
      }, everyMs);
    },
    stop: () => clearInterval(timer),
  };
}
