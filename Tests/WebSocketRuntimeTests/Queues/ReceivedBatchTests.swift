import HoldfastTesting
import Testing
import WebSocketCore
import WebSocketRuntime

@Suite struct ReceivedBatchTests {
    private static let kinds = [MessageKind.text, .binary]

    /// Adds a masked message as it comes from the wire.
    ///
    /// Returns false if it does not fit.
    private func append(_ kind: MessageKind, _ payload: [UInt8], to batch: inout ReceivedBatch, expecting expected: Int = 0) throws -> Bool
    {
        let mask = MaskKey(bits: 0x1234_5678)
        let header = FrameHeader(kind == .text ? .text : .binary, mask: mask, payloadLength: payload.count)
        var bytes = [UInt8](repeating: 0, count: header.length) + payload
        bytes.withUnsafeMutableBytes {
            header.write(to: $0)
            mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[header.length...]))
        }
        return try bytes.withUnsafeBytes { bytes in
            var (rest, reader) = (bytes, MessageReader(role: .server))
            let lone = reader.nextLone(&rest)
            return try batch.append(try #require(lone), expecting: expected)
        }
    }

    private func message(_ kind: MessageKind, _ payload: [UInt8]) -> Received {
        .message(kind == .text ? .text(String(decoding: payload, as: UTF8.self)) : .binary(payload))
    }

    private func all(_ batch: ReceivedBatch) -> [Received] {
        var (batch, all) = (batch, [Received]())
        while let received = batch.popFirst() {
            all.append(received)
            #expect(batch.isEmpty == (batch.count == 0))
        }
        #expect(batch.count == 0 && batch.cost == 0)
        return all
    }

    @Test func `a new batch is empty`() {
        var batch = ReceivedBatch()
        #expect(batch.isEmpty && batch.count == 0 && batch.cost == 0)
        #expect(batch.popFirst() == nil)
    }

    @Test(arguments: [1, 4096, 1 << 20]) func `short messages of every length and kind are restored`(expected: Int) throws {
        for length in [0, 1, 2, 3, 4, 5, 125, 126, 1000, ReceivedBatch.longestShort] {
            var batch = ReceivedBatch()
            var messages: [Received] = []
            for kind in Self.kinds {
                for letter in ["a", "ñ"] {
                    let payload = Array(String(repeating: letter, count: length / letter.utf8.count).utf8)
                    // A batch reserves little memory if few messages are expected, so only the first is certain to fit.
                    guard try append(kind, payload, to: &batch, expecting: expected) else { continue }
                    messages.append(message(kind, payload))
                }
            }
            #expect(all(batch) == messages && !messages.isEmpty)
        }
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `elements are popped in order, and cost and count match the rest`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var batch = ReceivedBatch()
        var (model, refused) = ([Received](), 0)
        for _ in 0..<600 {
            let length = Int.random(in: 0...(Bool.random(using: &random) ? 20 : 3000), using: &random)
            let payload = [UInt8](repeating: .random(in: 0x20...0x7E, using: &random), count: length)
            let kind = Self.kinds.randomElement(using: &random) ?? .text
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                let chunk = Received.chunk(MessageChunk(kind: kind, bytes: payload, isLast: .random(using: &random)))
                batch.append(chunk)
                model.append(chunk)
            case 1:
                batch.append(message(kind, payload))
                model.append(message(kind, payload))
            case 2, 3:
                #expect(batch.popFirst() == model.first)
                if !model.isEmpty { model.removeFirst() }
            default:
                if try append(kind, payload, to: &batch, expecting: 20_000) {
                    model.append(message(kind, payload))
                } else {
                    refused += 1
                }
            }
            #expect(batch.count == model.count && batch.isEmpty == model.isEmpty)
            #expect(batch.cost == model.reduce(0) { $0 + $1.cost })
        }
        #expect(refused > 0, "the memory is limited")
        #expect(all(batch) == model)
    }

    @Test func `a full batch keeps its messages, and still accepts those outside its memory`() throws {
        var batch = ReceivedBatch()
        let payload = [UInt8](repeating: 7, count: 1000)
        var messages: [Received] = []
        while try append(.binary, payload, to: &batch, expecting: 10_000) { messages.append(message(.binary, payload)) }
        #expect((5...32).contains(messages.count))
        #expect(all(batch) == messages)
        for number in 1...20 {
            batch.append(.message(numbered(number)))
            messages.append(.message(numbered(number)))
        }
        #expect(all(batch) == messages)
    }

    @Test func `a short message after a long one is not accepted, because it would come first`() throws {
        var batch = ReceivedBatch([.message(numbered(1))])
        #expect(try !append(.text, [0x61], to: &batch, expecting: 10_000))
        #expect(batch.numbers == [1])
    }

    @Test func `invalid UTF-8 is refused, and changes nothing`() throws {
        for bad in [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80]] as [[UInt8]] {
            var batch = ReceivedBatch()
            #expect(throws: ProtocolViolation.self) { try append(.text, bad, to: &batch, expecting: 1000) }
            #expect(batch.isEmpty && batch.cost == 0 && batch.popFirst() == nil)
            #expect(try append(.text, [0x61], to: &batch))
            #expect(throws: ProtocolViolation.self) { try append(.text, bad, to: &batch) }
            #expect(try append(.binary, bad, to: &batch))
            #expect(all(batch) == [.message(.text("a")), .message(.binary(bad))])
        }
    }

    @Test func `a copy is consumed independently`() throws {
        var batch = ReceivedBatch()
        for letter in "abc".utf8 { #expect(try append(.text, [letter], to: &batch, expecting: 1000)) }
        batch.append(.message(.binary([1])))
        var copy = batch
        #expect(copy.popFirst() == .message(.text("a")))
        #expect(all(copy) == [.message(.text("b")), .message(.text("c")), .message(.binary([1]))])
        #expect(all(batch).count == 4)
    }
}
