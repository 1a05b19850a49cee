/** Milliseconds before the next attempt: a random value whose bound doubles with each failure, up to 30 s, so that clients spread out. */
export function backoff(failures, random = Math.random) {
    const most = Math.min(30_000, 250 * 2 ** Math.min(failures, 10));
    return most / 2 + (random() * most) / 2;
}
