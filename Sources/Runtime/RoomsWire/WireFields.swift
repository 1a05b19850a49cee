import CodecCore
import RoomCore
import SwiftProtobuf

#if !(Rooms || Hub)
    #error("rooms need a trait of the package: .package(url: \"…\", traits: [.defaults, \"Rooms\"]), or \"Hub\" for a server")
#endif

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decodes a frame from Protocol Buffers.
///
/// - Parameter most: The maximum number of fields in its body.
func readMessage<Wire: SwiftProtobuf.Message>(_ bytes: UnsafeRawBufferPointer, fields most: Int) throws(FrameError) -> Wire {
    guard ProtobufShape.isPlain(bytes, fields: most) else { throw FrameError(.malformed) }
    var options = BinaryDecodingOptions()
    options.discardUnknownFields = true
    do { return try Wire(serializedBytes: bytes.bytes, options: options) } catch BinaryDecodingError.truncated {
        throw FrameError(.truncated)
    } catch BinaryDecodingError.invalidUTF8 { throw FrameError(.invalidText) } catch BinaryDecodingError.messageDepthLimit {
        throw FrameError(.tooDeep)
    } catch {
        throw FrameError(.malformed)
    }
}

extension SwiftProtobuf.Message {
    func frameBytes() -> [UInt8] {
        // Encoding fails only if a required field is missing, and proto3 has none.
        (try? serializedBytes()) ?? []
    }
}

extension Int64 {
    /// Checks a number of the protocol.
    func number(_ field: StaticString, from lowest: Int64 = 0) throws(FrameError) -> Int64 {
        guard self >= lowest, self < RoomsLimits.number else { throw FrameError(.outOfRange, field: field) }
        return self
    }
}

extension [Int64] {
    func numbers(_ field: StaticString) throws(FrameError) -> [Int64] {
        guard count <= RoomsLimits.versions else { throw FrameError(.tooLong, field: field) }
        for number in self { _ = try number.number(field) }
        return self
    }
}

extension UInt64 {
    /// Checks the epoch of a log, which is never 0.
    func epoch() throws(FrameError) -> UInt64 {
        guard self != 0 else { throw FrameError(.missing, field: "epoch") }
        return self
    }
}

extension String {
    func room() throws(FrameError) -> RoomName {
        guard let name = RoomName(self) else { throw FrameError(isEmpty ? .missing : .invalidName, field: "room") }
        return name
    }

    func user() throws(FrameError) -> UserName {
        guard let name = UserName(self) else { throw FrameError(isEmpty ? .missing : .invalidName, field: "user") }
        return name
    }

    /// Checks the type of a payload.
    func type(upTo length: Int) throws(FrameError) -> String {
        guard !isEmpty else { throw FrameError(.missing, field: "type") }
        return try text("type", upTo: length)
    }

    func text(_ field: StaticString, upTo length: Int) throws(FrameError) -> String {
        guard utf8.count <= length else { throw FrameError(.tooLong, field: field) }
        return self
    }
}

/// Combines the two halves of a UUID or a device ID; returns nil if both are missing.
func bits(_ high: UInt64?, _ low: UInt64?) -> Bits128? {
    high == nil && low == nil ? nil : Bits128(high: high ?? 0, low: low ?? 0)
}

extension CursorProof {
    /// Combines the two halves of a proof; returns nil if both are missing.
    init?(high: UInt64?, low: UInt64?) {
        guard let bits = RoomsWire.bits(high, low) else { return nil }
        self.init(bits)
    }
}

extension Optional {
    /// Returns the value of a required field.
    func needed(_ field: StaticString) throws(FrameError) -> Wrapped {
        guard let self else { throw FrameError(.missing, field: field) }
        return self
    }
}

extension Data {
    /// Checks a JSON payload, or other JSON of an app.
    ///
    /// - Parameter isStrict: Whether to refuse lone surrogates and numbers beyond the range of a Double, as for frames of clients.
    func json(_ field: StaticString, isStrict: Bool = false) throws(FrameError) -> [UInt8] {
        guard let value = Payload.value(ofJSON: [UInt8](self), isStrict: isStrict) else { throw FrameError(.invalidValue, field: field) }
        return value
    }
}

extension Reference {
    init(_ wire: WireReference, kindUpTo length: Int) throws(FrameError) {
        guard !wire.kind.isEmpty else { throw FrameError(.missing, field: "about") }
        self.init(kind: try wire.kind.text("kind", upTo: length), seq: try wire.seq.number("seq", from: 1))
    }
}

extension WireReference {
    init(_ about: Reference) {
        self.init()
        (kind, seq) = (about.kind, about.seq)
    }
}
