import Foundation

/// A value to encode and to decode.
struct Sample {
    let name: String
    /// The value as JSON, with dates as texts.
    let json: () throws -> Data
    /// Prints the time of the codec in both directions.
    let measure: (Codec, Duration) throws -> Void

    init<Value: Codable & Equatable>(_ name: String, _ value: Value) {
        self.name = name
        json = {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            return try encoder.encode(value)
        }
        measure = { codec, time in
            let (encode, decode) = (codec.encoder(Value.self), try codec.decoder(of: value))
            guard try decode() == value else { fatalError("\(codec.rawValue) does not bring \(name) back") }
            let bytes = try encode(value)
            func notify(_ direction: String, _ nanoseconds: Double) {
                print(codec.rawValue, name.replacing(" ", with: "-"), direction, Int(nanoseconds), bytes)
            }
            notify("encode", try nanoseconds(each: { _ = try encode(value) }, for: time))
            notify("decode", try nanoseconds(each: { _ = try decode() }, for: time))
        }
    }

    static var all: [Sample] {
        [
            Sample("tick", Tick(number: 7)),
            Sample("100 ticks", (0..<100).map(Tick.init)),
            Sample("order book", OrderBook(levels: 20)),
        ]
    }
}

struct Tick: Codable, Equatable {
    let symbol: String
    let bid, ask, last: Double
    let volume: Int
    let time: Date

    init(number: Int) {
        symbol = ["SAIL", "AAPL", "BANK.K3"][number % 3]
        (bid, ask, last) = (189.25 + Double(number) / 100, 189.5 + Double(number) / 100, 189.37)
        volume = 1200 * number
        time = Date(timeIntervalSince1970: 1_795_296_000 + Double(number))
    }
}

struct OrderBook: Codable, Equatable {
    struct Level: Codable, Equatable {
        let price: Double
        let size: Int
        let orders: [Int]
    }

    let symbol: String
    let bids, asks: [Level]
    let halted: Bool
    let sources: [String: Int]

    init(levels: Int) {
        symbol = "SAIL"
        func side(_ direction: Double) -> [Level] {
            (0..<levels).map {
                Level(price: 189.5 + direction * Double($0) / 100, size: 100 * ($0 + 1), orders: (0...$0 % 4).map { $0 * 25 })
            }
        }
        (bids, asks, halted) = (side(-1), side(1), false)
        sources = ["one": 12, "two": 345, "three": 6789]
    }
}

/// The processor time of one call, averaged over the given time.
private func nanoseconds(each work: () throws -> Void, for time: Duration) throws -> Double {
    var (count, batch) = (0, 1)
    let start = threadTime()
    var spent = Duration.zero
    while spent < time {
        for _ in 0..<batch { try work() }
        count += batch
        // The clock is read rarely, so that it costs nothing.
        if batch < 1024 { batch *= 2 }
        spent = threadTime() - start
    }
    return spent / .nanoseconds(1) / Double(count)
}

private func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
