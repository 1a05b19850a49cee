// Beside the page's thread: receives and decodes, and hands over what changed when the page asks, which it does once per drawn frame.
// However many ticks come between two frames, each symbol is handed over once.

import { Book, fields } from "./book.mjs";
import { Feed } from "./feed.mjs";

const book = new Book();
let feed;
let market = null;
let namesSent = 0;

function handOver() {
    if (market !== book.market) {
        market = book.market;
        namesSent = 0;
    }
    const places = Uint32Array.from(book.takeChanged());
    const quotes = new Float64Array(places.length * fields);
    for (let index = 0; index < places.length; index++) {
        const from = places[index] * fields;
        for (let field = 0; field < fields; field++) quotes[index * fields + field] = book.shown[from + field];
    }
    const names = book.names.slice(namesSent);
    namesSent = book.names.length;
    const { state, encoding, roundTrip, bytes, connections } = feed;
    const link = { state, encoding, roundTrip, bytes, connections };
    postMessage({ market, places, quotes, names, counts: book.counts, link }, [places.buffer, quotes.buffer]);
}

onmessage = ({ data }) => {
    if (data.open) feed = new Feed(data.open, book, data.encoding);
    else if (data.hurry) feed.hurry();
    else handOver();
};
