import CodecCore
import Testing

@Suite struct ProtobufShapeTests {
    private func isPlain(_ bytes: [UInt8], fields: Int = 4) -> Bool {
        bytes.withUnsafeBytes { ProtobufShape.isPlain($0, fields: fields) }
    }

    @Test func `a message with one body and few other fields is plain`() {
        let body: [UInt8] = [0x0A, 2, 0x32, 0]
        #expect(isPlain([]) && isPlain(body) && isPlain(body + [0x12, 0, 0x18, 0x80, 1, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x2D, 0, 0, 0, 0]))
        #expect(!isPlain(body + body) && !isPlain(body + [0x12, 0] + body))
        // The tag may have a longer encoding.
        #expect(!isPlain(body + [0x8A, 0x00, 0]))
        #expect(isPlain((1...15).flatMap { [UInt8($0 << 3), 1] }) && !isPlain((1...20).flatMap { [UInt8($0 << 3 & 0x7F), 1] }))
    }

    @Test func `the number of fields of a body is limited`() {
        func body(_ count: Int) -> [UInt8] { [0x0A, UInt8(2 * count)] + (0..<count).flatMap { _ in [0x32, 0] as [UInt8] } }
        #expect(isPlain(body(4)) && !isPlain(body(5)) && isPlain(body(5), fields: .max))
    }

    @Test func `truncated or invalid Protocol Buffers are left to the decoder`() {
        let endless = [UInt8](repeating: 0x80, count: 20)
        for bytes in [[0x0A], [0x0A, 9, 0], [0x80], endless, [0x0F, 1], [0x09, 1], [0x0D, 1], [0x08]] as [[UInt8]] {
            #expect(isPlain(bytes))
        }
    }
}
