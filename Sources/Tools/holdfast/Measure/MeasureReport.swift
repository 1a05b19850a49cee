import HoldfastTerminal

/// The costs of messages in each format, as `holdfast measure --json` prints them; times are per message, in microseconds.
struct MeasureReport: Hashable, Sendable, Codable {
    /// The size of all messages.
    struct Size: Hashable, Sendable, Codable {
        let bytes: Int
        let bytesPerMessage: Double
        /// The ratio to plain JSON.
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
        /// With permessage-deflate, each message on its own.
        let deflated: Size
        /// With permessage-deflate and context takeover.
        let deflatedWithTakeover: Size
        let encode: Double
        let decode: Double
        /// The time to deflate and inflate.
        let deflate: Double
        let deflateWithTakeover: Double
    }

    let messages: Int
    /// The formats, JSON first.
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

    /// The report as JSON with sorted keys; encoding cannot fail because all numbers are finite and the rest is text.
    var json: String { (try? inPrettyJSON()) ?? "{}" }

    private static let nameWidth = 13
    private static let cellWidth = 18
    private static let barWidth = 40

    /// Returns the report as text for people.
    func lines(style: Style) -> [String] {
        let heading = [style.paint("\(messages.grouped) \(messages == 1 ? "message" : "messages")", .prompt)]
        let blocks = [heading, sizes, times(style), chart(style), advice]
        return Array(blocks.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private var sizes: [String] {
        let titles = ["plain", "deflate", "with takeover"]
        return [Self.row("bytes/message", titles)]
            + rows.map { row in
                Self.row(row.format, row.sizes.map { "\($0.bytesPerMessage.bytes)  \($0.percent)" })
            }
    }

    private func times(_ style: Style) -> [String] {
        let titles = ["encode", "decode", "deflate+inflate", "with takeover"]
        return [Self.row("CPU/message", titles)]
            + rows.map { row in
                Self.row(row.format, [row.encode, row.decode, row.deflate, row.deflateWithTakeover].map(\.microseconds))
            } + [style.paint("for values of unknown types; known types take less", .dim)]
    }

    private func chart(_ style: Style) -> [String] {
        let most = rows.flatMap(\.sizes).map(\.bytesPerMessage).max() ?? 0
        let kinds: [(name: String, part: Style.Part)] = [("plain", .sent), ("deflate", .received), ("with takeover", .good)]
        return rows.flatMap { row in
            zip(kinds, row.sizes).enumerated().map { place, bar in
                let (kind, size) = (bar.0, bar.1.bytesPerMessage)
                let names = (place == 0 ? row.format : "").paddedRight(to: Self.nameWidth) + kind.name.paddedRight(to: 15)
                return names + style.paint(String(bar: size, of: most, width: Self.barWidth), kind.part) + " " + size.bytes
            }
        }
    }

    private static func row(_ name: String, _ cells: [String]) -> String {
        name.paddedRight(to: nameWidth + 3) + cells.map { $0.paddedLeft(to: cellWidth) }.joined()
    }
}

/// Rounds a figure to the digits that are significant.
private func rounded(_ value: Double, _ parts: Double) -> Double { (value * parts).rounded() / parts }

extension MeasureReport.Row {
    fileprivate var sizes: [MeasureReport.Size] { [plain, deflated, deflatedWithTakeover] }
}

extension MeasureReport.Size {
    fileprivate var percent: String { "\(Int((ratio * 100).rounded())) %".paddedLeft(to: 5) }
}

extension Double {
    /// The number of bytes as text: `9.5 B`, `183 B`, `20,480 B`.
    fileprivate var bytes: String {
        if self >= 100 || self == rounded() { return Int(rounded()).grouped + " B" }
        return "\((self * 10).rounded() / 10) B"
    }

    /// The number of microseconds with three significant digits: `0.21 µs`, `12.3 µs`, `1.25 ms`.
    var microseconds: String {
        if self >= 1000 { return Duration.microseconds(self).phrase }
        let decimals = self < 10 ? 100.0 : self < 100 ? 10.0 : 1.0
        let figures = (self * decimals).rounded() / decimals
        return (figures == figures.rounded() ? String(Int(figures)) : String(figures)) + " µs"
    }

    /// The number with at most one decimal: `2.5`, `12`.
    fileprivate var inTenths: String {
        let tenths = (self * 10).rounded() / 10
        return tenths == tenths.rounded() ? String(Int(tenths)) : String(tenths)
    }
}

/// The answer to "JSON or binary?", derived from the figures.
struct FormatAdvice {
    /// Smaller differences are ignored, because readable JSON is worth more.
    private static let worthwhile = 0.1
    /// Shorter messages are not compressed by default, see `CompressionOptions.threshold`.
    private static let threshold = 256.0

    private let json: MeasureReport.Row
    private let binary: MeasureReport.Row

    /// Creates advice; nil unless there is JSON, which comes first, and another format.
    init?(_ rows: [MeasureReport.Row]) {
        let others = rows.dropFirst()
        guard let json = rows.first, let binary = others.min(by: { $0.plain.bytes < $1.plain.bytes }) else { return nil }
        (self.json, self.binary) = (json, binary)
    }

    /// The recommended format and the reason, then the effect of compression.
    var sentences: [String] { [verdict, compression] + (json.plain.bytesPerMessage < Self.threshold ? [shortness] : []) }

    private var verdict: String {
        let figures = "\(binary.format) has \(comparison), without compression."
        let saves = 1 - share >= Self.worthwhile
        let savesPacked = 1 - packedShare >= Self.worthwhile
        if saves, savesPacked { return "Binary: \(figures)" }
        if saves { return "Binary if you do not compress: \(figures)" }
        if speed >= 2 { return "Binary if processor time matters: \(figures)" }
        return "JSON: \(figures)"
    }

    private var compression: String {
        let packed = json.deflatedWithTakeover
        let time = json.deflateWithTakeover.microseconds
        let cost = "permessage-deflate with context takeover reduces JSON to \(percent(packed.ratio)), for \(time) more per message"
        let difference = abs(1 - packedShare) < Self.worthwhile ? "about as much" : percent(binary.deflatedWithTakeover.ratio)
        return "\(cost); \(binary.format) then needs \(difference)."
    }

    private var shortness: String {
        "By default, messages under 256 bytes are sent uncompressed: lower the threshold to compress these."
    }

    /// The size of the binary format relative to JSON.
    private var share: Double { binary.plain.ratio }

    private var packedShare: Double {
        let whole = json.deflatedWithTakeover.bytes
        return whole > 0 ? Double(binary.deflatedWithTakeover.bytes) / Double(whole) : 1
    }

    /// How many times faster the binary format is to encode and decode.
    private var speed: Double {
        let time = binary.encode + binary.decode
        return time > 0 ? (json.encode + json.decode) / time : 1
    }

    private var comparison: String {
        let bytes =
            share <= 1 ? "\(percent(1 - share)) fewer bytes than JSON" : "\(percent(share - 1)) more bytes than JSON"
        let times = speed >= 1 ? "\(speed.inTenths) times less" : "\((1 / speed).inTenths) times more"
        return "\(bytes) and takes \(times) processor time"
    }

    private func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}

/// The costs of all messages in one format: bytes, and processor time.
struct FormatCost: Hashable, Sendable {
    let format: String
    let plain: Int
    let deflated: Int
    let deflatedWithTakeover: Int
    let encode: Duration
    let decode: Duration
    let deflate: Duration
    let deflateWithTakeover: Duration
}
