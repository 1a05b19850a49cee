import Foundation

/// What messages cost in each format, as `holdfast measure --json` prints it; times are of one message, in microseconds.
struct MeasureReport: Hashable, Sendable, Codable {
    /// What all messages take.
    struct Size: Hashable, Sendable, Codable {
        let bytes: Int
        let bytesPerMessage: Double
        /// Beside JSON as it is.
        let ratio: Double

        init(bytes: Int, messages: Int, plainJSON: Int) {
            self.bytes = bytes
            bytesPerMessage = rounded(Double(bytes) / Double(max(1, messages)), 100)
            ratio = plainJSON > 0 ? rounded(Double(bytes) / Double(plainJSON), 10_000) : 1
        }
    }

    struct Row: Hashable, Sendable, Codable {
        let format: String
        let plain: Size
        /// With permessage-deflate, each message by itself.
        let deflated: Size
        /// With permessage-deflate and context takeover.
        let deflatedWithTakeover: Size
        let encode: Double
        let decode: Double
        /// To deflate and to inflate.
        let deflate: Double
        let deflateWithTakeover: Double
    }

    let messages: Int
    /// JSON first.
    let rows: [Row]
    let advice: [String]

    init(_ costs: [FormatCost], messages: Int) {
        let plainJSON = costs.first?.plain ?? 0
        self.messages = messages
        func size(_ bytes: Int) -> Size { Size(bytes: bytes, messages: messages, plainJSON: plainJSON) }
        func each(_ time: Duration) -> Double { rounded(time / .microseconds(1) / Double(max(1, messages)), 1000) }
        rows = costs.map {
            Row(
                format: $0.format, plain: size($0.plain), deflated: size($0.deflated),
                deflatedWithTakeover: size($0.deflatedWithTakeover), encode: each($0.encode), decode: each($0.decode),
                deflate: each($0.deflate), deflateWithTakeover: each($0.deflateWithTakeover))
        }
        advice = FormatAdvice(rows)?.sentences ?? []
    }

    /// This report as JSON, its keys in order.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Nothing here fails to encode: numbers are finite, and the rest is text.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

/// A figure without digits that nobody measured.
private func rounded(_ value: Double, _ parts: Double) -> Double { (value * parts).rounded() / parts }
