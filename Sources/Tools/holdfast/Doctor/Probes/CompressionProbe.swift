import Holdfast

/// Offers permessage-deflate, and sends a sample through it.
enum CompressionProbe {
    /// What apps send: JSON whose keys repeat.
    static let sample = Array(
        (0..<200).map { #"{"id":\#($0),"symbol":"HLD\#($0 % 7)","price":\#(100 + $0 * 37 % 101).\#($0 % 10)5,"isOpen":true}"# }
            .joined(separator: ",").utf8)

    static func run(_ habits: Habits, _ errand: Errand) async throws -> CompressionView {
        let options = errand.options.connection.compression ?? CompressionOptions()
        let wire = try await Wire.open(errand, deflate: options.preferences)
        var view = CompressionView()
        guard let parameters = wire.deflate else {
            await wire.leave()
            return view
        }
        view.isAgreed = true
        view.serverNoContextTakeover = parameters.serverNoContextTakeover
        view.clientNoContextTakeover = parameters.clientNoContextTakeover
        (view.serverMaxWindowBits, view.clientMaxWindowBits) = (parameters.serverMaxWindowBits, parameters.clientMaxWindowBits)
        var compressed: [UInt8] = []
        sample.withUnsafeBytes { Deflater(parameters: parameters, role: .client).deflate($0, isLast: true, into: &compressed) }
        (view.sampleBytes, view.sentBytes) = (sample.count, compressed.count)
        let start = ContinuousClock.now
        await wire.send(.text, compressed, isCompressed: true)
        let reply = await wire.reply(to: Wire.Expected(opcode: .text, bytes: sample), since: start, habits, errand) { whole in
            // An echo is one that says the same, however it is written.
            whole.isCompressed ? inflated(whole.bytes, parameters) ?? [] : whole.bytes
        }
        view.reaction = reply.reaction
        if let message = reply.message { (view.echoBytes, view.isEchoCompressed) = (message.bytes.count, message.isCompressed) }
        await wire.leave()
        return view
    }

    private static func inflated(_ bytes: [UInt8], _ parameters: DeflateParameters) -> [UInt8]? {
        let inflater = Inflater(parameters: parameters, role: .client)
        var plain: [UInt8] = []
        do throws(ProtocolViolation) {
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(ProtocolViolation) in try inflater.inflate(bytes, into: &plain, limit: 1 << 20) }
            }
            try result.get()
            try inflater.finish(into: &plain, limit: 1 << 20)
            return plain
        } catch {
            return nil
        }
    }
}
