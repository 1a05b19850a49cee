import ArgumentParser

/// A number of bytes: `65536`, `64K`, `16M`, `1G` (powers of 1024).
struct ByteCount: Hashable, Sendable, ExpressibleByArgument {
    let bytes: Int

    /// Reads a count of at least one byte; nil for anything else, overflow included.
    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let shift: Int
        switch argument[digits.endIndex...].uppercased() {
        case "": shift = 0
        case "K": shift = 10
        case "M": shift = 20
        case "G": shift = 30
        default: return nil
        }
        guard let count = Int(digits), count > 0 else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: 1 << shift)
        guard !overflow else { return nil }
        self.bytes = bytes
    }
}
