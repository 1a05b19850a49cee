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

extension Double {
    /// `2.5`, `12`.
    fileprivate var inTenths: String {
        let tenths = (self * 10).rounded() / 10
        return tenths == tenths.rounded() ? String(Int(tenths)) : String(tenths)
    }
}
