import CodecCore
import QuotesCore
import SwiftProtobuf

#if !Quotes
    #error("HoldfastQuotes needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Quotes\"])")
#endif

extension WireReply {
    fileprivate init(_ reply: QuotesReply) {
        self.init()
        switch reply {
        case .welcome(let welcome):
            var wire = WireWelcome()
            wire.version = UInt32(clamping: welcome.version)
            wire.market = UInt64(clamping: welcome.market)
            wire.symbols = UInt32(clamping: welcome.symbols)
            self.welcome = wire
        case .snapshot(let part):
            var wire = WireSnapshot()
            (wire.id, wire.seq, wire.round) = (UInt64(clamping: part.id), UInt64(clamping: part.sequence), UInt64(clamping: part.round))
            (wire.last, wire.quotes) = (part.isLast, part.quotes.map { WireFullQuote($0) })
            snapshot = wire
        case .ticks(let ticks): self.ticks = WireTicks(ticks)
        case .refusal(let refusal):
            var wire = WireRefusal()
            if let id = refusal.id { wire.id = UInt64(clamping: id) }
            (wire.code, wire.message) = (refusal.code.rawValue, refusal.message)
            error = wire
        }
    }
}

extension WireFullQuote {
    fileprivate init(_ quote: QuotesReply.FullQuote) {
        self.init()
        let figures = quote.state.figures
        (symbol, name, version) = (quote.symbol, quote.name, UInt64(clamping: quote.state.version))
        (bid, ask, last, volume, time) = (figures.bid, figures.ask, figures.last, figures.volume, figures.time)
    }
}

extension WireTicks {
    fileprivate init(_ message: QuotesReply.Ticks) {
        self.init()
        (seq, conflated) = (UInt64(clamping: message.sequence), UInt64(clamping: message.conflated))
        // Collected in local arrays, because each access to a field of the message copies it.
        var columns = (symbols: [UInt32](), versions: [UInt64](), masks: [UInt32](), changes: [Int64]())
        for tick in message.ticks {
            columns.symbols.append(tick.symbol)
            columns.versions.append(UInt64(clamping: tick.version))
            columns.masks.append(UInt32(tick.fields.rawValue))
            if tick.fields.contains(.bid) { columns.changes.append(tick.differences.bid) }
            if tick.fields.contains(.ask) { columns.changes.append(tick.differences.ask) }
            if tick.fields.contains(.last) { columns.changes.append(tick.differences.last) }
            if tick.fields.contains(.volume) { columns.changes.append(tick.differences.volume) }
            if tick.fields.contains(.time) { columns.changes.append(tick.differences.time) }
        }
        (symbols, versions, masks, changes) = columns
    }
}

extension QuotesReply {
    var protobuf: [UInt8] {
        // Encoding fails only if a required field is missing, and proto3 has none.
        (try? WireReply(self).serializedBytes()) ?? []
    }

    /// Decodes a reply of a server; returns nil if its type belongs to a later version.
    init?(protobuf bytes: UnsafeRawBufferPointer) throws {
        guard ProtobufShape.isPlain(bytes, fields: .max) else { throw CodecError(.malformed, at: 0) }
        switch try WireReply(serializedBytes: bytes.bytes).body {
        case .welcome(let welcome):
            self = .welcome(
                Welcome(version: Int64(welcome.version), market: try Int64(wire: welcome.market), symbols: Int64(welcome.symbols)))
        case .snapshot(let part):
            guard part.quotes.count <= QuotesLimits.entriesRead else { throw CodecError(.tooLarge, at: 0) }
            var quotes: [FullQuote] = []
            quotes.reserveCapacity(part.quotes.count)
            for quote in part.quotes { quotes.append(try FullQuote(quote)) }
            self = .snapshot(
                SnapshotPart(
                    id: try Int64(wire: part.id), sequence: try Int64(wire: part.seq), round: try Int64(wire: part.round),
                    isLast: part.last, quotes: quotes))
        case .ticks(let ticks): self = .ticks(try Ticks(ticks))
        case .error(let refusal):
            self = .refusal(
                Refusal(
                    id: refusal.hasID ? try Int64(wire: refusal.id) : nil, code: QuotesRefusalCode(rawValue: refusal.code),
                    message: refusal.message))
        case nil: return nil
        }
    }
}

extension QuotesReply.FullQuote {
    fileprivate init(_ wire: WireFullQuote) throws(CodecError) {
        let figures = QuoteFigures(bid: wire.bid, ask: wire.ask, last: wire.last, volume: wire.volume, time: wire.time)
        self.init(symbol: wire.symbol, name: wire.name, state: QuoteState(version: try Int64(wire: wire.version), figures: figures))
    }
}

extension QuotesReply.Ticks {
    fileprivate init(_ wire: WireTicks) throws(CodecError) {
        let (symbols, versions, masks, changes) = (wire.symbols, wire.versions, wire.masks, wire.changes)
        let count = symbols.count
        guard count <= QuotesLimits.entriesRead else { throw CodecError(.tooLarge, at: 0) }
        guard versions.count == count, masks.count == count else { throw CodecError(.malformed, at: 0) }
        var ticks: [QuotesReply.Tick] = []
        ticks.reserveCapacity(count)
        var column = ChangeColumn(changes)
        for index in 0..<count {
            guard masks[index] <= QuoteFields.all.rawValue else { throw CodecError(.malformed, at: 0) }
            let fields = QuoteFields(rawValue: UInt8(masks[index]))
            var differences = QuoteFigures()
            if fields.contains(.bid) { differences.bid = try column.next() }
            if fields.contains(.ask) { differences.ask = try column.next() }
            if fields.contains(.last) { differences.last = try column.next() }
            if fields.contains(.volume) { differences.volume = try column.next() }
            if fields.contains(.time) { differences.time = try column.next() }
            let version = try Int64(wire: versions[index])
            ticks.append(QuotesReply.Tick(symbol: symbols[index], version: version, fields: fields, differences: differences))
        }
        guard column.isAtEnd else { throw CodecError(.trailingBytes, at: 0) }
        self.init(sequence: try Int64(wire: wire.seq), conflated: try Int64(wire: wire.conflated), ticks: ticks)
    }
}

/// The differences of all ticks, one after another.
private struct ChangeColumn {
    private let changes: [Int64]
    private var place = 0

    init(_ changes: [Int64]) { self.changes = changes }

    var isAtEnd: Bool { place == changes.count }

    mutating func next() throws(CodecError) -> Int64 {
        guard place < changes.count else { throw CodecError(.truncated, at: 0) }
        defer { place += 1 }
        return changes[place]
    }
}

extension WireRequest {
    fileprivate init(_ request: QuotesRequest) {
        self.init()
        switch request {
        case .subscribe(let id, let symbols, let rate):
            var subscribe = WireSubscribe()
            (subscribe.id, subscribe.symbols) = (UInt64(clamping: id), symbols)
            if let rate { subscribe.rate = UInt32(clamping: rate) }
            self.subscribe = subscribe
        case .unsubscribe(let id): unsubscribe.id = UInt64(clamping: id)
        case .resync(let round): resync.round = UInt64(clamping: round)
        }
    }
}

extension QuotesRequest {
    var protobuf: [UInt8] {
        // Encoding fails only if a required field is missing, and proto3 has none.
        (try? WireRequest(self).serializedBytes()) ?? []
    }

    /// Decodes a request of a client; returns nil if its type belongs to a later version.
    init?(protobuf bytes: UnsafeRawBufferPointer) throws {
        guard ProtobufShape.isPlain(bytes, fields: .max) else { throw CodecError(.malformed, at: 0) }
        switch try WireRequest(serializedBytes: bytes.bytes).body {
        case .subscribe(let subscribe):
            self = .subscribe(
                id: try Int64(wire: subscribe.id), symbols: subscribe.symbols, rate: subscribe.hasRate ? Int64(subscribe.rate) : nil)
        case .unsubscribe(let unsubscribe): self = .unsubscribe(id: try Int64(wire: unsubscribe.id))
        case .resync(let resync): self = .resync(round: try Int64(wire: resync.round))
        case nil: return nil
        }
    }
}

extension Int64 {
    /// Converts a number of the protocol; throws if it is out of range.
    init(wire number: some BinaryInteger) throws(CodecError) {
        guard let number = Int64(exactly: number), number.magnitude <= QuoteFigures.maximum else { throw CodecError(.overflow, at: 0) }
        self = number
    }
}
