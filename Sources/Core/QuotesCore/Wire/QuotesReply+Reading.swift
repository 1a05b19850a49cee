import CodecCore

extension QuotesReply {
    /// Reads a reply; nil if it is of an unknown type.
    static func read(from reader: inout some WireReader) throws(CodecError) -> QuotesReply? {
        let start = reader.position
        var map = try reader.openMap()
        guard try reader.key(of: &map) == "type" else { throw CodecError(.malformed, at: start) }
        let type = try reader.word()
        let reply: QuotesReply?
        switch type {
        case "ticks": reply = try ticks(from: &reader, &map)
        case "snapshot": reply = try snapshot(from: &reader, &map)
        case "welcome": reply = try welcome(from: &reader, &map)
        case "error": reply = try refusal(from: &reader, &map)
        default:
            while try reader.key(of: &map) != nil { try reader.skip() }
            try reader.finish()
            return nil
        }
        guard let reply else { throw CodecError(.malformed, at: start) }
        try reader.finish()
        return reply
    }

    private static func welcome(from reader: inout some WireReader, _ map: inout WireContainer) throws(CodecError) -> QuotesReply? {
        var version: Int64?
        var market: Int64?
        var symbols: Int64?
        while let key = try reader.key(of: &map) {
            switch key {
            case "version": version = try reader.number()
            case "market": market = try reader.number()
            case "symbols": symbols = try reader.number()
            default: try reader.skip()
            }
        }
        guard let version, let market, let symbols else { return nil }
        return .welcome(Welcome(version: version, market: market, symbols: symbols))
    }

    private static func snapshot(from reader: inout some WireReader, _ map: inout WireContainer) throws(CodecError) -> QuotesReply? {
        var part = SnapshotPart(id: -1, sequence: -1, round: -1, isLast: false, quotes: [])
        var (hasLast, hasQuotes) = (false, false)
        while let key = try reader.key(of: &map) {
            switch key {
            case "id": part.id = try reader.number()
            case "seq": part.sequence = try reader.number()
            case "round": part.round = try reader.number()
            case "last": (part.isLast, hasLast) = (try reader.flag(), true)
            case "quotes": (part.quotes, hasQuotes) = (try quotes(from: &reader), true)
            default: try reader.skip()
            }
        }
        guard part.id >= 0, part.sequence >= 0, part.round >= 0, hasLast, hasQuotes else { return nil }
        return .snapshot(part)
    }

    private static func quotes(from reader: inout some WireReader) throws(CodecError) -> [FullQuote] {
        var quotes: [FullQuote] = []
        var array = try reader.openArray()
        while try reader.hasElement(of: &array) {
            guard quotes.count < QuotesLimits.entriesRead else { throw CodecError(.tooLarge, at: reader.position) }
            var quote = try reader.openArray()
            let symbol = try reader.symbol(of: &quote)
            guard try reader.hasElement(of: &quote) else { throw CodecError(.malformed, at: reader.position) }
            let name = try reader.text()
            let version = try reader.number(of: &quote)
            let figures = QuoteFigures(
                bid: try reader.number(of: &quote), ask: try reader.number(of: &quote), last: try reader.number(of: &quote),
                volume: try reader.number(of: &quote), time: try reader.number(of: &quote))
            try reader.close(&quote)
            quotes.append(FullQuote(symbol: symbol, name: name, state: QuoteState(version: version, figures: figures)))
        }
        return quotes
    }

    private static func ticks(from reader: inout some WireReader, _ map: inout WireContainer) throws(CodecError) -> QuotesReply? {
        var message = Ticks(sequence: -1, ticks: [])
        var hasTicks = false
        while let key = try reader.key(of: &map) {
            switch key {
            case "seq": message.sequence = try reader.number()
            case "conflated": message.conflated = try reader.number()
            case "ticks": (message.ticks, hasTicks) = (try ticks(from: &reader), true)
            default: try reader.skip()
            }
        }
        guard message.sequence >= 0, hasTicks else { return nil }
        return .ticks(message)
    }

    private static func ticks(from reader: inout some WireReader) throws(CodecError) -> [Tick] {
        var ticks: [Tick] = []
        var array = try reader.openArray()
        // Where the format says how many come, it has compared that with the bytes that are left.
        ticks.reserveCapacity(min(array.left, QuotesLimits.ticksSent))
        while try reader.hasElement(of: &array) {
            guard ticks.count < QuotesLimits.entriesRead else { throw CodecError(.tooLarge, at: reader.position) }
            var tick = try reader.openArray()
            let symbol = try reader.symbol(of: &tick)
            let version = try reader.number(of: &tick)
            let place = reader.position
            let mask = try reader.number(of: &tick)
            guard 0...Int64(QuoteFields.all.rawValue) ~= mask else { throw CodecError(.malformed, at: place) }
            let fields = QuoteFields(rawValue: UInt8(mask))
            var differences = QuoteFigures()
            if fields.contains(.bid) { differences.bid = try reader.number(of: &tick) }
            if fields.contains(.ask) { differences.ask = try reader.number(of: &tick) }
            if fields.contains(.last) { differences.last = try reader.number(of: &tick) }
            if fields.contains(.volume) { differences.volume = try reader.number(of: &tick) }
            if fields.contains(.time) { differences.time = try reader.number(of: &tick) }
            try reader.close(&tick)
            ticks.append(Tick(symbol: symbol, version: version, fields: fields, differences: differences))
        }
        return ticks
    }

    private static func refusal(from reader: inout some WireReader, _ map: inout WireContainer) throws(CodecError) -> QuotesReply? {
        var id: Int64?
        var code: String?
        var message = ""
        while let key = try reader.key(of: &map) {
            switch key {
            case "id": id = try reader.number()
            case "code": code = try reader.text()
            case "message": message = try reader.text()
            default: try reader.skip()
            }
        }
        guard let code else { return nil }
        return .refusal(Refusal(id: id, code: QuotesRefusalCode(rawValue: code), message: message))
    }
}
