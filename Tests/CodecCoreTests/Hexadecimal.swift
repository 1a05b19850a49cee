import CodecCore

/// Bytes of hexadecimal digits.
func codecBytes(_ digits: String) -> [UInt8] {
    let digits = Array(digits.filter { $0 != " " })
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<($0 + 2)]), radix: 16) }
}

func codecValue(_ bytes: [UInt8], _ format: BinaryFormat, _ limits: CodecLimits = .standard) throws -> Value {
    try bytes.withUnsafeBytes { try Value(decoding: $0.bytes, as: format, limits: limits) }
}

func codecValue(json: String, _ limits: CodecLimits = .standard) throws -> Value {
    try Array(json.utf8).withUnsafeBytes { try Value(json: $0.bytes, limits: limits) }
}
