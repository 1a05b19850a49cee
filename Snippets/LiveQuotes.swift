// Quotes on a screen that shows thirty pictures a second. Start `holdfast serve quotes`, run this, then stop and start the server.
import HoldfastQuotes

let feed = QuoteFeed("ws://127.0.0.1:9001/feed")
try feed.subscribe("SAIL", "BANK*")
for await update in feed.updates(atMost: 30) {
    for quote in update.quotes {
        let age = quote.isCurrent ? "" : " (old)"
        print("\(quote.symbol) \(Double(quote.last) / Double(Quote.priceScale))\(age)")
    }
    for symbol in update.removed { print("\(symbol) is gone") }
}
print("over: \(feed.closure.map { "\($0)" } ?? "nobody holds the feed"); \(feed.counts.gaps) gaps, \(feed.counts.conflated) conflated")
