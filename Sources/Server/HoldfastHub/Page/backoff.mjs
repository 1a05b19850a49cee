/**
 * Milliseconds before the next attempt: a random value from 100 to a bound that doubles with each failure, up to 30 s, so that clients
 * spread out.
 */
export function backoff(failures, random = Math.random) {
    const most = Math.min(30_000, 500 * 2 ** Math.min(failures, 10));
    return 100 + random() * (most - 100);
}
