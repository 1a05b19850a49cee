extension QuotesReply {
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

    /// About how many bytes it takes.
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
