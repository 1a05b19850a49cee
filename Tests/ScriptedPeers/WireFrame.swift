package import WebSocketCore

/// A frame with its payload.
package struct WireFrame: Hashable, Sendable {
    package var opcode: Opcode
    package var payload: [UInt8]
    package var isFinal: Bool
    package var isCompressed: Bool

    package init(_ opcode: Opcode, _ payload: [UInt8] = [], isFinal: Bool = true, isCompressed: Bool = false) {
        (self.opcode, self.payload, self.isFinal, self.isCompressed) = (opcode, payload, isFinal, isCompressed)
    }

    package static func text(_ text: String) -> WireFrame { WireFrame(.text, Array(text.utf8)) }

    package static func close(_ code: CloseCode? = nil, reason: String = "") -> WireFrame {
        WireFrame(.close, CloseFrame(code, reason: reason).payload)
    }

    /// The bytes of the frame for a receiver of this role: masked to a server, unmasked to a client.
    package func bytes(to role: Role) -> [UInt8] {
        let mask = role == .server ? MaskKey(bits: 0x1234_5678) : nil
        let header = FrameHeader(opcode, isFinal: isFinal, isCompressed: isCompressed, mask: mask, payloadLength: payload.count)
        var bytes = [UInt8](repeating: 0, count: header.length) + payload
        bytes.withUnsafeMutableBytes {
            header.write(to: $0)
            mask?.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[header.length...]))
        }
        return bytes
    }

    /// The frame as a close frame; nil if it is another frame.
    package var closeFrame: CloseFrame? {
        guard opcode == .close else { return nil }
        return try? payload.withUnsafeBytes { try CloseFrame(payload: $0) }
    }
}

extension ScriptedPeer {
    /// Sends a frame to a peer in the given role.
    package func send(_ frame: WireFrame, to role: Role) async throws { try await send(frame.bytes(to: role)) }

    /// Reads a frame, unmasked.
    package func readFrame() async throws -> WireFrame {
        var head = try await read(2)
        let lengthBytes = [126: 2, 127: 8][Int(head[1] & 0x7F)] ?? 0
        head += try await read(lengthBytes + (head[1] & 0x80 == 0 ? 0 : 4))
        guard let header = try head.withUnsafeBytes({ try FrameHeader.parse($0, allowsCompression: true) })?.header else { throw Ended() }
        var payload = try await read(header.payloadLength)
        payload.withUnsafeMutableBytes { header.mask?.apply(to: $0) }
        return WireFrame(header.opcode, payload, isFinal: header.isFinal, isCompressed: header.isCompressed)
    }

    /// Skips frames up to the close frame; returns it.
    @discardableResult
    package func readClose() async throws -> CloseFrame {
        while true { if let close = try await readFrame().closeFrame { return close } }
    }

    /// Skips frames up to the close frame, answers it with the same code, and waits for the end of the connection.
    @discardableResult
    package func answerClose(to role: Role) async throws -> CloseFrame {
        let close = try await readClose()
        try await send(.close(close.code), to: role)
        if role == .server { _ = await readToEnd() }
        return close
    }
}
