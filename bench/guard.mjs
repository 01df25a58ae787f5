// The guard against becoming slow unnoticed: Headgate beside the plainest thing that does the same, in the same run. The bounds are about twice
// as loose as what is measured on a machine that is busy, so that only a real loss of speed breaks one.

/** What is asked, as on the command line. */
export const guard = {
  scenario: 'many,hot,refused-one,refused,three,memory',
  only: 'headgate,headgate-one,headgate-lease,headgate-noted,headgate-memory,raw,bare,map',
  rounds: '5',
  seconds: '0.3',
  keys: '20000',
};

const least = (text, at, of, [over, must]) => ({ text, at, figure: 'checksPerSecond', of, over: [over], bound: 'at least', must });
const most = (text, at, figure, [over, must], of = 'headgate') => ({ text, at, figure, of, over: [over], bound: 'at most', must });

/** What must hold, as goals of the bench. */
export const guarded = {
  ratios: [
    least('checks/s, 256 in flight', ['many', 256], 'headgate', ['raw', 1.2]),
    most('client CPU per check, 256 in flight', ['many', 256], 'clientCpuUs', ['raw', 0.85]),
    most('Redis CPU per check, 256 in flight', ['many', 256], 'redisCpuUs', ['bare', 2.5]),
    most('p50, 1 in flight', ['many', 1], 'p50Ms', ['raw', 2.5]),
    most('time of three rules, 256 in flight', ['three', 256], 'secondsPerCheck', ['headgate-one', 5]),
    most('time of three rules, 1 in flight', ['three', 1], 'p50Ms', ['headgate-one', 3]),
    least('leased hot key', ['hot', 256], 'headgate-lease', ['map', 0.1]),
    least('noted refusal of one key', ['refused-one', 256], 'headgate-noted', ['map', 0.1]),
    least('noted refusal of many keys', ['refused', 256], 'headgate-noted', ['map', 0.1]),
    least('memory store', ['memory', 256], 'headgate-memory', ['map', 0.1]),
  ],
  speeds: [],
};
