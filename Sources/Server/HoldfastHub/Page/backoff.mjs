/** Milliseconds before the next attempt: doubles with each failure, up to half a minute; drawn, so that the clients of a hub spread. */
export function backoff(failures, random = Math.random) {
    const most = Math.min(30_000, 250 * 2 ** Math.min(failures, 10));
    return most / 2 + (random() * most) / 2;
}
