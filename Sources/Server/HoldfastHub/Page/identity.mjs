// Random IDs, and the user name in a token.

/** Returns this many random bytes as hexadecimal digits. */
export function hexadecimal(count) {
    return Array.from(crypto.getRandomValues(new Uint8Array(count)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns a UUID of version 7: its time comes first, so that IDs sort by creation time. */
export function messageID(now = Date.now()) {
    const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, "0").slice(-12);
    const chance = hexadecimal(10);
    const variant = (8 + (parseInt(chance[3], 16) & 3)).toString(16);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${chance.slice(0, 3)}-${variant}${chance.slice(4, 7)}-${chance.slice(7, 19)}`;
}

/** Returns the user that a token names; only the hub can verify it. */
export function subjectOf(token) {
    try {
        const text = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
        const { sub } = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
        return typeof sub === "string" ? sub : undefined;
    } catch {
        return undefined;
    }
}
