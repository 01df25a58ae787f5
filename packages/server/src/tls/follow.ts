import type { Server } from 'node:https';
import type { Logger } from '../observe/logger.js';
import type { Metrics } from '../observe/metrics.js';
import { tlsMetrics } from '../observe/tls-metrics.js';
import type { Certificate } from './certificate.js';
import type { CertificateSource } from './source.js';

export interface Following {
  readonly certificate: CertificateSource;
  readonly server: Server;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** New connections get the certificate that is in the files now; those that are open stay. The function returned stops it. */
export function followCertificate({ certificate, server, metrics, logger }: Following): () => void {
  const counted = metrics.add(tlsMetrics);

  function loaded({ expiresAt, warnings }: Certificate): void {
    counted.loaded(expiresAt);
    for (const warning of warnings) logger.warn({ event: 'certificate' }, warning);
  }

  loaded(certificate.first);
  return certificate.watch({
    onCertificate(next) {
      // With it the keys of session tickets are others too: no session of before goes on without its client's certificate being looked at again.
      server.setSecureContext(next.context);
      loaded(next);
      logger.info({ event: 'certificate', expires: new Date(next.expiresAt).toISOString() }, 'another certificate is in use');
    },
    onFault(error) {
      counted.refused();
      logger.error({ event: 'certificate' }, `${error.message}; the certificate in use stays`);
    },
  });
}
