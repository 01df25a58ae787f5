import { Counter, Gauge, type Registry } from 'prom-client';

export interface TlsMetrics {
  /** When the certificate in use expires, in milliseconds since 1970. */
  loaded(expiresAt: number): void;
  /** Files that cannot be used: the certificate in use stays. */
  refused(): void;
}

export function tlsMetrics(registry: Registry): TlsMetrics {
  const registers = [registry];
  const expires = new Gauge({
    name: 'headgate_tls_certificate_expires_seconds',
    help: 'When the first certificate of the chain in use expires, in seconds since 1970.',
    aggregator: 'min',
    registers,
  });
  const reloads = new Counter({
    name: 'headgate_tls_reload_total',
    help: 'Certificates read, by result: ok, or refused (the one in use stays).',
    labelNames: ['result'] as const,
    registers,
  });
  for (const result of ['ok', 'refused'] as const) reloads.inc({ result }, 0);
  return {
    loaded(expiresAt) {
      expires.set(Math.floor(expiresAt / 1000));
      reloads.inc({ result: 'ok' });
    },
    refused: () => reloads.inc({ result: 'refused' }),
  };
}
