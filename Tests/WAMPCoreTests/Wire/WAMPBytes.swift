import CodecCore
import WAMPCore

/// Bytes of hexadecimal digits.
func wampBytes(_ digits: String) -> [UInt8] {
    let digits = Array(digits.filter { $0 != " " })
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<($0 + 2)]), radix: 16) }
}

/// The message of these bytes.
func wampMessage(
    _ bytes: [UInt8], _ serialization: WAMPSerialization, _ limits: CodecLimits = .standard
) throws(WAMPFormatError) -> WAMPMessage {
    // The closure cannot throw a typed error.
    try bytes.withUnsafeBytes { bytes -> Result<WAMPMessage, WAMPFormatError> in
        do throws(WAMPFormatError) {
            return .success(try WAMPMessage(decoding: bytes.bytes, as: serialization, limits: limits))
        } catch { return .failure(error) }
    }.get()
}

/// The message of a JSON text.
func wampMessage(json: String) throws(WAMPFormatError) -> WAMPMessage { try wampMessage(Array(json.utf8), .json) }

extension WAMPMessage {
    /// The same message with decoded arguments, without the original bytes.
    func withValues() throws -> WAMPMessage {
        func values(_ arguments: WAMPArguments) throws -> WAMPArguments {
            WAMPArguments(try arguments.list, keywords: try arguments.keywords)
        }
        return switch self {
        case .abort(let details, let reason, let arguments): .abort(details: details, reason: reason, try values(arguments))
        case .goodbye(let details, let reason, let arguments): .goodbye(details: details, reason: reason, try values(arguments))
        case .error(let kind, let request, let details, let uri, let arguments):
            .error(kind, request: request, details: details, uri: uri, try values(arguments))
        case .publish(let request, let options, let topic, let arguments):
            .publish(request: request, options: options, topic: topic, try values(arguments))
        case .event(let subscription, let publication, let details, let arguments):
            .event(subscription: subscription, publication: publication, details: details, try values(arguments))
        case .call(let request, let options, let procedure, let arguments):
            .call(request: request, options: options, procedure: procedure, try values(arguments))
        case .result(let request, let details, let arguments): .result(request: request, details: details, try values(arguments))
        case .invocation(let request, let registration, let details, let arguments):
            .invocation(request: request, registration: registration, details: details, try values(arguments))
        case .yield(let request, let options, let arguments): .yield(request: request, options: options, try values(arguments))
        default: self
        }
    }
}
