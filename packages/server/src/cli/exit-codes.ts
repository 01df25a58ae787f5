/** What the process ends with; from 64 on the numbers are those of sysexits(3). */
export const exitCodes = {
  ok: 0,
  failed: 1,
  refused: 1,
  warnings: 1,
  errors: 2,
  usage: 64,
  rejected: 65,
  unavailable: 69,
  software: 70,
  forbidden: 77,
  config: 78,
  interrupted: 130,
  terminated: 143,
} as const;

/** What each number means, whatever the command; each command's help tells which it ends with, and more of them. */
export const exitMeanings: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'done; of headgate check: allowed'],
  [1, 'not done, or not wholly; of headgate check: refused; of headgate doctor: warnings'],
  [2, 'of headgate doctor: errors'],
  [64, 'there is no such command'],
  [65, 'the service does not take what was asked: a rule that is not in force, a cost out of range'],
  [69, 'the service, or the Redis, cannot be reached or cannot answer'],
  [70, 'a fault of Headgate itself'],
  [77, 'the token is missing, not known, or may not do this'],
  [78, 'a setting, a file or an argument is faulty; every fault is told, a line each'],
  [130, 'ended at once by a second SIGINT'],
  [143, 'ended at once by a second SIGTERM'],
];
