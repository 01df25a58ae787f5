// What several processes were answered of one windowed limit, judged window by window.

/** Out of microseconds at which checks were decided, those refused negative: how many of each window passed, and who was refused too soon. */
export function judgeWindows(decided, { limit, windowUs, firstEnd, windows }) {
  const inOrder = Float64Array.from(decided).sort((a, b) => Math.abs(a) - Math.abs(b));
  const passed = new Map();
  let checks = 0;
  let wrong = 0;
  for (const at of inOrder) {
    const end = (Math.floor(Math.abs(at) / windowUs) + 1) * windowUs;
    const before = passed.get(end) ?? 0;
    const measured = end >= firstEnd && end < firstEnd + windows * windowUs;
    if (measured) checks += 1;
    if (at > 0) passed.set(end, before + 1);
    else if (measured && before < limit) wrong += 1;
  }
  const whole = Array.from({ length: windows }, (_, i) => (passed.get(firstEnd + i * windowUs) ?? 0) / limit);
  return {
    least: Math.min(...whole),
    most: Math.max(...whole),
    // A window that was not seen from its beginning has its bound too.
    mostAnywhere: Math.max(...passed.values()) / limit,
    wrong: wrong / Math.max(1, checks),
    checks,
  };
}
