// Runs outside of the page's thread: receives and decodes messages, and passes on the changes when the page asks, once per drawn frame.
// Each symbol is passed on only once, however many ticks arrive between two frames.

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
