import RoomCore
import RoomsWire

extension FuzzTarget {
    static func clientFrame(_ input: inout FuzzInput) throws {
        try frame(
            &input, read: { try $0.decodeClientFrame($1, isText: $0.isText) }, write: { $0.bytes(of: $1) },
            look: { encoding, bytes, frame in
                // The envelope of a publication must agree. For an invalid frame it may be empty.
                let envelope = encoding.envelope(of: bytes, isText: encoding.isText)
                if case .publish(let room, let publication)? = frame {
                    try expectEqual(envelope, PublicationEnvelope(room: room, cseq: publication.cseq), "another envelope")
                } else if frame != nil {
                    try expectEqual(envelope, nil, "an envelope of another frame")
                }
            })
    }

    static func hubFrame(_ input: inout FuzzInput) throws {
        try frame(&input, read: { try $0.decodeHubFrame($1, isText: $0.isText) }, write: { $0.bytes(of: $1) })
    }

    /// A parsed frame is written in either encoding, and must be parsed to the same frame.
    private static func frame<Frame: Equatable>(
        _ input: inout FuzzInput, read: (RoomsEncoding, UnsafeRawBufferPointer) throws -> Frame?, write: (RoomsEncoding, Frame) -> [UInt8],
        look: (RoomsEncoding, UnsafeRawBufferPointer, Frame?) throws -> Void = { _, _, _ in }
    ) throws {
        // JSON starts with its bracket, so that its inputs are readable.
        let encoding: RoomsEncoding = input.rest.first == UInt8(ascii: "{") ? .json : .protobuf
        if encoding == .protobuf { _ = input.byte() }
        let frame: Frame?
        do { frame = try read(encoding, input.rest) } catch let error as FrameError {
            try expect(error.offset.map { $0 <= input.rest.count } ?? true, "an error beyond the bytes: \(error)")
            return try look(encoding, input.rest, nil)
        }
        try look(encoding, input.rest, frame)
        guard let frame else { return }
        for other in RoomsEncoding.allCases {
            let written = write(other, frame)
            let again = try written.withUnsafeBytes { bytes in try read(other, bytes) }
            try expectEqual(again, frame, "what was written as \(other) reads otherwise")
        }
    }
}
