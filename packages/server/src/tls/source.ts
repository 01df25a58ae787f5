import { SettingError } from '../redis-address.js';
import { systemTiming, type Timing } from '../rules/timing.js';
import { followFiles, readSettled } from '../watching.js';
import { certificateOf, type Certificate } from './certificate.js';
import { isSameTls, readTlsFiles, type TlsFiles } from './files.js';

export interface CertificateWatch {
  readonly onCertificate: (certificate: Certificate) => void;
  /** Once for each faulty content; the certificate in use stays. */
  readonly onFault: (error: SettingError) => void;
}

export interface CertificateSource {
  readonly first: Certificate;
  /** Whether clients need a certificate. */
  readonly isMutual: boolean;
  /** Watches for others; the function returned stops it. To be called once. */
  watch(on: CertificateWatch): () => void;
}

/**
 * Opens a certificate's files. They are then watched by their content as one, so that a mount that swaps a symlink is one change, and a new
 * certificate beside the old key is a fault that ends when the key arrives.
 *
 * @throws SettingError with the file and the mend
 */
export async function openCertificate(files: TlsFiles, timing: Timing = systemTiming): Promise<CertificateSource> {
  const read = () => readTlsFiles(files);
  const texts = await readSettled({ read, isSame: isSameTls, before: { problem: '' } });
  const first = certificateOf({ files, texts, now: timing.now() });

  return {
    first,
    isMutual: files.clientCa !== undefined,
    watch({ onCertificate, onFault }) {
      function use(next: typeof texts): void {
        try {
          onCertificate(certificateOf({ files, texts: next, now: timing.now() }));
        } catch (error) {
          onFault(error instanceof SettingError ? error : new SettingError((error as Error).message));
        }
      }
      return followFiles({ files: Object.values(files), read, isSame: isSameTls, known: texts, onChange: use });
    },
  };
}
