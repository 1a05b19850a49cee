import CodecCore

/// What messages cost in every format.
struct Measurement {
    let messages: [Value]
    let stopwatch: Stopwatch

    /// Writes all messages in all formats, and times each step; what is measured is done on the caller's thread.
    func report() throws -> MeasureReport {
        let payloads = try MeasuredFormat.allCases.map { format in try messages.map { try format.encode($0) } }
        let deflated = payloads.map {
            [DeflatedMessages(payloads: $0, takesContextOver: false), .init(payloads: $0, takesContextOver: true)]
        }
        let works = zip(MeasuredFormat.allCases, zip(payloads, deflated)).flatMap { format, bytes in
            steps(format, payloads: bytes.0, deflated: bytes.1)
        }
        let times = stopwatch.times(of: works)
        let costs = try MeasuredFormat.allCases.enumerated().map { place, format in
            let own = Array(times[(place * 4)..<(place * 4 + 4)])
            return FormatCost(
                format: format.rawValue, plain: payloads[place].reduce(0) { $0 + $1.count }, deflated: try deflated[place][0].exchange(),
                deflatedWithTakeover: try deflated[place][1].exchange(), encode: own[0], decode: own[1], deflate: own[2],
                deflateWithTakeover: own[3])
        }
        return MeasureReport(costs, messages: messages.count)
    }

    /// To encode, to decode, to deflate and inflate, and that with context takeover; what fails here fails when bytes are counted, too.
    private func steps(_ format: MeasuredFormat, payloads: [[UInt8]], deflated: [DeflatedMessages]) -> [() -> Void] {
        [
            { for message in messages { _ = try? format.encode(message) } },
            { for payload in payloads { _ = try? format.decode(payload) } },
            { _ = try? deflated[0].exchange() },
            { _ = try? deflated[1].exchange() },
        ]
    }
}
