import CodecCore

extension QuotesRequest {
    func write(to writer: inout some WireWriter & ~Copyable) {
        switch self {
        case .subscribe(let id, let symbols, let rate):
            writer.openMap(rate == nil ? 3 : 4)
            writer.key("type")
            writer.text("subscribe")
            writer.key("id")
            writer.number(id)
            writer.key("symbols")
            writer.openArray(symbols.count)
            for symbol in symbols { writer.text(symbol) }
            writer.closeArray()
            if let rate {
                writer.key("rate")
                writer.number(rate)
            }
        case .unsubscribe(let id):
            writer.openMap(2)
            writer.key("type")
            writer.text("unsubscribe")
            writer.key("id")
            writer.number(id)
        case .resync(let round):
            writer.openMap(2)
            writer.key("type")
            writer.text("resync")
            writer.key("round")
            writer.number(round)
        }
        writer.closeMap()
    }

    /// Reads a request; nil if it is of an unknown type.
    static func read(from reader: inout some WireReader) throws(CodecError) -> QuotesRequest? {
        let start = reader.position
        var map = try reader.openMap()
        guard try reader.key(of: &map) == "type" else { throw CodecError(.malformed, at: start) }
        let type = try reader.word()
        var id: Int64?
        var symbols: [String]?
        var rate: Int64?
        var round: Int64?
        while let key = try reader.key(of: &map) {
            switch (type, key) {
            case ("subscribe", "id"), ("unsubscribe", "id"): id = try reader.number()
            case ("subscribe", "symbols"):
                var (array, patterns) = (try reader.openArray(), [String]())
                // A message of a client is short, so there are not many.
                while try reader.hasElement(of: &array) { patterns.append(try reader.text()) }
                symbols = patterns
            case ("subscribe", "rate"): rate = try reader.number()
            case ("resync", "round"): round = try reader.number()
            default: try reader.skip()
            }
        }
        try reader.finish()
        switch type {
        case "subscribe": if let id, let symbols { return .subscribe(id: id, symbols: symbols, rate: rate) }
        case "unsubscribe": if let id { return .unsubscribe(id: id) }
        case "resync": if let round { return .resync(round: round) }
        default: return nil
        }
        throw CodecError(.malformed, at: start)
    }
}
