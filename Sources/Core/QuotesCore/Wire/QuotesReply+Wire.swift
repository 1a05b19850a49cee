import CodecCore

extension QuotesReply {
    /// Reads a reply; returns nil if its type is unknown.
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
        // If the format gives the count in advance, it has been checked against the remaining bytes.
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

    func write(to writer: inout some WireWriter & ~Copyable) {
        switch self {
        case .welcome(let welcome):
            writer.openMap(4)
            writer.key("type")
            writer.text("welcome")
            writer.key("version")
            writer.number(welcome.version)
            writer.key("market")
            writer.number(welcome.market)
            writer.key("symbols")
            writer.number(welcome.symbols)
        case .snapshot(let part): part.write(to: &writer)
        case .ticks(let ticks): ticks.write(to: &writer)
        case .refusal(let refusal):
            writer.openMap(refusal.id == nil ? 3 : 4)
            writer.key("type")
            writer.text("error")
            if let id = refusal.id {
                writer.key("id")
                writer.number(id)
            }
            writer.key("code")
            writer.text(refusal.code.rawValue)
            writer.key("message")
            writer.text(refusal.message)
        }
        writer.closeMap()
    }

    /// The approximate encoded size in bytes.
    var sizeEstimate: Int {
        switch self {
        case .welcome, .refusal: 256
        case .snapshot(let part): 128 + 96 * part.quotes.count
        case .ticks(let ticks): 64 + 48 * ticks.ticks.count
        }
    }
}

extension QuotesReply.SnapshotPart {
    fileprivate func write(to writer: inout some WireWriter & ~Copyable) {
        writer.openMap(6)
        writer.key("type")
        writer.text("snapshot")
        writer.key("id")
        writer.number(id)
        writer.key("seq")
        writer.number(sequence)
        writer.key("round")
        writer.number(round)
        writer.key("last")
        writer.flag(isLast)
        writer.key("quotes")
        writer.openArray(quotes.count)
        for quote in quotes {
            writer.openArray(8)
            writer.number(Int64(quote.symbol))
            writer.text(quote.name)
            writer.number(quote.state.version)
            writer.number(quote.state.figures.bid)
            writer.number(quote.state.figures.ask)
            writer.number(quote.state.figures.last)
            writer.number(quote.state.figures.volume)
            writer.number(quote.state.figures.time)
            writer.closeArray()
        }
        writer.closeArray()
    }
}

extension QuotesReply.Ticks {
    fileprivate func write(to writer: inout some WireWriter & ~Copyable) {
        writer.openMap(conflated == 0 ? 3 : 4)
        writer.key("type")
        writer.text("ticks")
        writer.key("seq")
        writer.number(sequence)
        if conflated != 0 {
            writer.key("conflated")
            writer.number(conflated)
        }
        writer.key("ticks")
        writer.openArray(ticks.count)
        for tick in ticks {
            writer.openArray(3 + tick.fields.rawValue.nonzeroBitCount)
            writer.number(Int64(tick.symbol))
            writer.number(tick.version)
            writer.number(Int64(tick.fields.rawValue))
            if tick.fields.contains(.bid) { writer.number(tick.differences.bid) }
            if tick.fields.contains(.ask) { writer.number(tick.differences.ask) }
            if tick.fields.contains(.last) { writer.number(tick.differences.last) }
            if tick.fields.contains(.volume) { writer.number(tick.differences.volume) }
            if tick.fields.contains(.time) { writer.number(tick.differences.time) }
            writer.closeArray()
        }
        writer.closeArray()
    }
}

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

    /// Reads a request; returns nil if its type is unknown.
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
                // Messages from clients are short, so there are not many patterns.
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
