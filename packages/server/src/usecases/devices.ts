import type { DeviceTokens } from 'headgate/http';

/** A device on which an account has just proven itself: the token to set as its cookie. */
export const issueDevice = (devices: DeviceTokens, account: string): { readonly device: string } => ({ device: devices.issue(account) });

/** Whether a token was issued for this account; then also the device's id, for the key of a rule of its own. */
export function verifyDevice(
  devices: DeviceTokens,
  account: string,
  device: string,
): { readonly known: boolean; readonly id: string | null } {
  const id = devices.verify(account, device);
  return { known: id !== undefined, id: id ?? null };
}
