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

    /// This report as JSON, its keys in order; nothing in it fails to encode: numbers are finite, and the rest is text.
    var json: String { (try? inPrettyJSON()) ?? "{}" }

    private static let nameWidth = 13
    private static let cellWidth = 18
    private static let barWidth = 40

    /// This report for people.
    func lines(style: Style) -> [String] {
        let heading = [style.paint("\(messages.grouped) \(messages == 1 ? "message" : "messages")", .prompt)]
        let blocks = [heading, sizes, times(style), chart(style), advice]
        return Array(blocks.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private var sizes: [String] {
        let titles = ["plain", "deflate", "with takeover"]
        return [Self.row("bytes a message", titles)]
            + rows.map { row in
                Self.row(row.format, row.sizes.map { "\($0.bytesPerMessage.bytes)  \($0.percent)" })
            }
    }

    private func times(_ style: Style) -> [String] {
        let titles = ["encode", "decode", "de- and inflate", "with takeover"]
        return [Self.row("CPU a message", titles)]
            + rows.map { row in
                Self.row(row.format, [row.encode, row.decode, row.deflate, row.deflateWithTakeover].map(\.microseconds))
            } + [style.paint("of values whose shape is unknown; of types that are known less", .dim)]
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

/// A figure without digits that nobody measured.
private func rounded(_ value: Double, _ parts: Double) -> Double { (value * parts).rounded() / parts }

extension MeasureReport.Row {
    fileprivate var sizes: [MeasureReport.Size] { [plain, deflated, deflatedWithTakeover] }
}

extension MeasureReport.Size {
    fileprivate var percent: String { "\(Int((ratio * 100).rounded())) %".paddedLeft(to: 5) }
}

extension Double {
    /// This number of bytes: `9.5 B`, `183 B`, `20,480 B`.
    fileprivate var bytes: String {
        if self >= 100 || self == rounded() { return Int(rounded()).grouped + " B" }
        return "\((self * 10).rounded() / 10) B"
    }

    /// This number of microseconds, to three figures: `0.21 µs`, `12.3 µs`, `1.25 ms`.
    var microseconds: String {
        if self >= 1000 { return Duration.microseconds(self).phrase }
        let decimals = self < 10 ? 100.0 : self < 100 ? 10.0 : 1.0
        let figures = (self * decimals).rounded() / decimals
        return (figures == figures.rounded() ? String(Int(figures)) : String(figures)) + " µs"
    }

    /// `2.5`, `12`.
    fileprivate var inTenths: String {
        let tenths = (self * 10).rounded() / 10
        return tenths == tenths.rounded() ? String(Int(tenths)) : String(tenths)
    }
}

/// The answer to "JSON or binary?" that figures give.
struct FormatAdvice {
    /// A difference below this is none: people can read JSON, and that is worth more.
    private static let worthwhile = 0.1
    /// What is shorter is by default not compressed, see `CompressionOptions.threshold`.
    private static let threshold = 256.0

    private let json: MeasureReport.Row
    private let binary: MeasureReport.Row

    /// Nil unless there is JSON, which comes first, and something beside it.
    init?(_ rows: [MeasureReport.Row]) {
        let others = rows.dropFirst()
        guard let json = rows.first, let binary = others.min(by: { $0.plain.bytes < $1.plain.bytes }) else { return nil }
        (self.json, self.binary) = (json, binary)
    }

    /// Which to take and why, then what compression does about it.
    var sentences: [String] { [verdict, compression] + (json.plain.bytesPerMessage < Self.threshold ? [shortness] : []) }

    private var verdict: String {
        let figures = "\(binary.format) has \(comparison), without compression."
        let saves = 1 - share >= Self.worthwhile
        let savesPacked = 1 - packedShare >= Self.worthwhile
        if saves, savesPacked { return "Binary: \(figures)" }
        if saves { return "Binary if you do not compress: \(figures)" }
        if speed >= 2 { return "Binary if the processor counts: \(figures)" }
        return "JSON: \(figures)"
    }

    private var compression: String {
        let packed = json.deflatedWithTakeover
        let time = json.deflateWithTakeover.microseconds
        let cost = "permessage-deflate with context takeover makes \(percent(packed.ratio)) of JSON, for \(time) more a message"
        let difference = abs(1 - packedShare) < Self.worthwhile ? "about as much" : percent(binary.deflatedWithTakeover.ratio)
        return "\(cost); \(binary.format) then takes \(difference)."
    }

    private var shortness: String {
        "By default messages under 256 bytes are sent as they are: lower the threshold if these are to be compressed."
    }

    /// Of JSON's bytes.
    private var share: Double { binary.plain.ratio }

    private var packedShare: Double {
        let whole = json.deflatedWithTakeover.bytes
        return whole > 0 ? Double(binary.deflatedWithTakeover.bytes) / Double(whole) : 1
    }

    /// How many times faster it is to encode and to decode.
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

/// What all messages cost in one format: bytes, and processor time.
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
