// MessagePack for the quotes protocol: nil, booleans, numbers, strings, byte strings, arrays and maps.

const utf8 = new TextDecoder("utf-8", { fatal: true });
const toUTF8 = new TextEncoder();
const deepest = 16;

/** Thrown for bytes that are not MessagePack, or that exceed the limits of this reader. */
export class MessagePackError extends Error {}

/** Decodes a single value. Maps become objects without a prototype, so that keys from a peer have no meaning for JavaScript. */
export function decode(bytes) {
    const reader = new Reader(bytes);
    const value = reader.value(0);
    if (reader.at !== bytes.length) throw new MessagePackError(`${bytes.length - reader.at} bytes too many`);
    return value;
}

class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        this.at = 0;
    }

    /** Moves past this many bytes and returns where they begin. */
    take(count) {
        const start = this.at;
        if (count > this.bytes.length - start) throw new MessagePackError("ends too soon");
        this.at = start + count;
        return start;
    }

    value(depth) {
        const byte = this.bytes[this.take(1)];
        if (byte < 0x80) return byte;
        if (byte >= 0xe0) return byte - 0x100;
        if (byte < 0x90) return this.map(byte & 0x0f, depth);
        if (byte < 0xa0) return this.array(byte & 0x0f, depth);
        if (byte < 0xc0) return this.string(byte & 0x1f);
        switch (byte) {
            case 0xc0: return null;
            case 0xc2: return false;
            case 0xc3: return true;
            case 0xc4: return this.data(this.view.getUint8(this.take(1)));
            case 0xc5: return this.data(this.view.getUint16(this.take(2)));
            case 0xc6: return this.data(this.view.getUint32(this.take(4)));
            case 0xca: return this.view.getFloat32(this.take(4));
            case 0xcb: return this.view.getFloat64(this.take(8));
            case 0xcc: return this.view.getUint8(this.take(1));
            case 0xcd: return this.view.getUint16(this.take(2));
            case 0xce: return this.view.getUint32(this.take(4));
            case 0xcf: return this.safe(this.view.getBigUint64(this.take(8)));
            case 0xd0: return this.view.getInt8(this.take(1));
            case 0xd1: return this.view.getInt16(this.take(2));
            case 0xd2: return this.view.getInt32(this.take(4));
            case 0xd3: return this.safe(this.view.getBigInt64(this.take(8)));
            case 0xd9: return this.string(this.view.getUint8(this.take(1)));
            case 0xda: return this.string(this.view.getUint16(this.take(2)));
            case 0xdb: return this.string(this.view.getUint32(this.take(4)));
            case 0xdc: return this.array(this.view.getUint16(this.take(2)), depth);
            case 0xdd: return this.array(this.view.getUint32(this.take(4)), depth);
            case 0xde: return this.map(this.view.getUint16(this.take(2)), depth);
            case 0xdf: return this.map(this.view.getUint32(this.take(4)), depth);
            default: throw new MessagePackError(`a value begins with 0x${byte.toString(16)}`);
        }
    }

    /** Returns a 64-bit number, if JavaScript can represent it exactly. */
    safe(big) {
        const number = Number(big);
        if (!Number.isSafeInteger(number)) throw new MessagePackError(`${big} is beyond 2⁵³`);
        return number;
    }

    string(length) {
        const start = this.take(length);
        const { bytes } = this;
        // Keys and symbols are short and ASCII: decoding them here is faster than a call of the decoder for each.
        if (length < 24) {
            let text = "";
            for (let index = start; index < this.at; index++) {
                if (bytes[index] > 0x7f) return this.text(start);
                text += String.fromCharCode(bytes[index]);
            }
            return text;
        }
        return this.text(start);
    }

    text(start) {
        try {
            return utf8.decode(this.bytes.subarray(start, this.at));
        } catch {
            throw new MessagePackError("a string is not UTF-8");
        }
    }

    data(length) {
        const start = this.take(length);
        return this.bytes.subarray(start, this.at);
    }

    /** Checks a count: every element takes at least one byte, so a larger count is refused before memory is allocated. */
    counted(count, least, depth) {
        if (depth >= deepest) throw new MessagePackError("nested too deeply");
        if (count * least > this.bytes.length - this.at) throw new MessagePackError("ends too soon");
    }

    array(count, depth) {
        this.counted(count, 1, depth);
        const values = new Array(count);
        for (let index = 0; index < count; index++) values[index] = this.value(depth + 1);
        return values;
    }

    map(count, depth) {
        this.counted(count, 2, depth);
        const values = Object.create(null);
        for (let index = 0; index < count; index++) {
            const key = this.value(depth + 1);
            values[key] = this.value(depth + 1);
        }
        return values;
    }
}

/** Encodes a JSON value with integer numbers as the shortest MessagePack. */
export function encode(value) {
    const bytes = [];
    write(value, bytes);
    return Uint8Array.from(bytes);
}

function write(value, bytes) {
    if (value === null) bytes.push(0xc0);
    else if (typeof value === "boolean") bytes.push(value ? 0xc3 : 0xc2);
    else if (typeof value === "number") writeInteger(value, bytes);
    else if (typeof value === "string") {
        const text = toUTF8.encode(value);
        writeHead(text.length, bytes, 0xa0, 32, [0xd9, 0xda, 0xdb]);
        bytes.push(...text);
    } else if (Array.isArray(value)) {
        writeHead(value.length, bytes, 0x90, 16, [0, 0xdc, 0xdd]);
        for (const element of value) write(element, bytes);
    } else {
        const entries = Object.entries(value);
        writeHead(entries.length, bytes, 0x80, 16, [0, 0xde, 0xdf]);
        for (const [key, element] of entries) {
            write(key, bytes);
            write(element, bytes);
        }
    }
}

/**
 * Writes a length: in the first byte if it is below `short`, else after the first of the markers (for 1, 2 and 4 bytes) that can hold
 * it.
 */
function writeHead(length, bytes, fixed, short, [one, two, four]) {
    if (length < short) bytes.push(fixed | length);
    else if (one && length < 0x100) bytes.push(one, length);
    else if (length < 0x10000) bytes.push(two, length >> 8, length & 0xff);
    else bytes.push(four, length >>> 24, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff);
}

function writeInteger(value, bytes) {
    if (!Number.isSafeInteger(value)) throw new MessagePackError(`${value} is not an integer`);
    if (value >= 0 && value < 0x80) bytes.push(value);
    else if (value < 0 && value >= -32) bytes.push(value + 0x100);
    else {
        const wide = new DataView(new ArrayBuffer(8));
        wide.setBigInt64(0, BigInt(value));
        const [marker, size] = value >= 0 ? unsigned(value) : signed(value);
        bytes.push(marker, ...new Uint8Array(wide.buffer, 8 - size));
    }
}

function unsigned(value) {
    if (value < 0x100) return [0xcc, 1];
    if (value < 0x10000) return [0xcd, 2];
    return value < 0x100000000 ? [0xce, 4] : [0xcf, 8];
}

function signed(value) {
    if (value >= -0x80) return [0xd0, 1];
    if (value >= -0x8000) return [0xd1, 2];
    return value >= -0x80000000 ? [0xd2, 4] : [0xd3, 8];
}
