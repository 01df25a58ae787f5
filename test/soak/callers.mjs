import { below, percent } from './chance.mjs';

const hot = 12;
const full = 50;

/**
 * Who asks. Most clients are new each second and never seen again, so that everything kept for a key comes and goes; beside them a few
 * that are hot all the time, and those that have used up their limit.
 */
export function callers({ perSecond }) {
  // Several checks for each, or hardly a key would be asked for twice.
  const newEachSecond = Math.ceil(perSecond / 20);
  const passing = () => `second${Math.floor(performance.now() / 1000)}-${process.pid}-${below(newEachSecond)}`;
  /** The lower its number, the oftener it asks. */
  const steady = () => `hot${below(1 + below(hot))}`;
  return {
    any: () => (percent(70) ? passing() : steady()),
    steady,
    full: () => `full${below(full)}`,
  };
}
