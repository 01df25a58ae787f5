import type { FastifyInstance } from 'fastify';
import type { DeviceTokens } from 'headgate/http';
import { z } from 'zod';
import { issueDevice, verifyDevice } from '../../usecases/devices.js';
import { readBody } from './errors.js';

const account = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => text.isWellFormed(), 'not well-formed text: a lone surrogate');
const issueBody = z.strictObject({ account });
/** A cookie that is none of ours is an unknown device, not a fault. */
const verifyBody = z.strictObject({ account, device: z.string().max(4096) });

/** Devices on which an account has logged in before. */
export function devicesRoutes(app: FastifyInstance, devices: DeviceTokens): void {
  app.post('/v1/devices', ({ body }, reply) => {
    void reply.header('cache-control', 'no-store');
    return Promise.resolve(issueDevice(devices, readBody(issueBody, body).account));
  });
  app.post('/v1/devices/verify', ({ body }) => {
    const { account: of, device } = readBody(verifyBody, body);
    return Promise.resolve(verifyDevice(devices, of, device));
  });
}
