/** CRC-16/XMODEM, by which Redis Cluster assigns slots. */
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
});

/** The slot (0 to 16,383) of a hash tag: ASCII text, as encoded keys are. */
export function slotOf(tag: string): number {
  let crc = 0;
  for (let i = 0; i < tag.length; i += 1) {
    crc = ((crc << 8) ^ (table[((crc >> 8) ^ tag.charCodeAt(i)) & 0xff] ?? 0)) & 0xffff;
  }
  return crc % 16_384;
}
