import { SettingError } from '../redis-address.js';
import { systemTiming, type Timing } from '../rules/timing.js';
import { keepLooking, readSettled } from '../watching.js';
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
  let last = await readSettled({ read, isSame: isSameTls, before: { problem: '' } });
  const first = certificateOf({ files, texts: last, now: timing.now() });

  return {
    first,
    isMutual: files.clientCa !== undefined,
    watch({ onCertificate, onFault }) {
      let stopped = false;
      let [looking, again] = [false, false];

      async function look(): Promise<void> {
        again = looking;
        if (looking || stopped) return;
        looking = true;
        const texts = await readSettled({ read, isSame: isSameTls, before: last });
        looking = false;
        if (stopped) return;
        if (again) void look();
        if (isSameTls(texts, last)) return;
        last = texts;
        try {
          onCertificate(certificateOf({ files, texts, now: timing.now() }));
        } catch (error) {
          onFault(error instanceof SettingError ? error : new SettingError((error as Error).message));
        }
      }

      const stop = keepLooking(Object.values(files), () => void look());
      void look();
      return () => {
        stopped = true;
        stop();
      };
    },
  };
}
