import type { DeviceTokens } from 'headgate/http';
import { z } from 'zod';
import { issueDevice, verifyDevice } from '../../usecases/devices.js';
import { bodyProblems, wellFormed } from './bodies.js';
import { reading, type Endpoint } from './endpoint.js';

const account = wellFormed(z.string().min(1).max(4096)).describe('The account, in one form: trimmed, lower case.');
const device = z.string().max(4096).describe('The cookie as it came. One that is none of ours is an unknown device, not a fault.');

/** Devices on which an account has logged in before. */
export const devicesEndpoints = (devices: DeviceTokens): Endpoint[] => [
  {
    methods: ['POST'],
    path: '/v1/devices',
    tag: 'Devices',
    summary: 'Names a device on which an account has just proven itself: the value of its cookie',
    ...reading(z.strictObject({ account }), ({ account: of }, reply) => {
      void reply.header('cache-control', 'no-store');
      return issueDevice(devices, of);
    }),
    example: { account: 'alice' },
    status: 200,
    answer: z.object({ device: z.string() }),
    problems: bodyProblems,
  },
  {
    methods: ['POST'],
    path: '/v1/devices/verify',
    tag: 'Devices',
    summary: 'Whether an account has logged in on this device before',
    ...reading(z.strictObject({ account, device }), ({ account: of, device: shown }) => verifyDevice(devices, of, shown)),
    example: { account: 'alice', device: 'COOKIE' },
    status: 200,
    answer: z.object({ known: z.boolean(), id: z.string().nullable().describe('For the key of a rule of its own; null: unknown.') }),
    problems: bodyProblems,
  },
];
