import MachineCore
import Testing
import WebSocketCore
import WebSocketRuntime

@Suite struct DeflaterTests {
    @Test(arguments: 8...15, [true, false])
    func `every message is restored with all parameters`(windowBits: Int, takeover: Bool) throws {
        let parameters = DeflateParameters(windowBits: windowBits, takeover: takeover)
        var messages = Messages(seed: UInt64(windowBits))
        for (sender, receiver) in [(Role.client, Role.server), (.server, .client)] {
            let options = CompressionOptions(level: windowBits % 7, memoryLevel: windowBits - 6)
            let deflater = Deflater(parameters: parameters, role: sender, options: options)
            let inflater = Inflater(parameters: parameters, role: receiver)
            for count in [0, 1, 125, 126, 0, 0, 1000, 65_535, 65_536, 1 << 20, 2] {
                let message = messages.next(count: count)
                #expect(try inflater.message(deflater.message(message)) == message)
            }
        }
    }

    @Test(arguments: [true, false])
    func `messages of every length are restored`(takeover: Bool) throws {
        let parameters = DeflateParameters(takeover: takeover)
        let (deflater, inflater) = (Deflater(parameters: parameters, role: .server), Inflater(parameters: parameters, role: .client))
        var messages = Messages(seed: 3)
        for count in 0...1500 {
            let message = messages.next(count: count)
            #expect(try inflater.message(deflater.message(message)) == message)
        }
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `a message in any pieces on either side is restored`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var messages = Messages(seed: seed)
        let parameters = DeflateParameters(windowBits: Int.random(in: 8...15, using: &random), takeover: Bool.random(using: &random))
        let (deflater, inflater) = (Deflater(parameters: parameters, role: .client), Inflater(parameters: parameters, role: .server))
        for _ in 1...20 {
            let message = messages.next(count: Int.random(in: 0...20_000, using: &random))
            let sent = deflater.message(inPieces: message.pieces(upTo: 4000, using: &random))
            #expect(try inflater.message(inPieces: sent.pieces(upTo: 4000, using: &random)) == message)
        }
    }

    @Test func `an empty last piece ends the message`() throws {
        let (deflater, inflater) = (Deflater(parameters: .init(), role: .client), Inflater(parameters: .init(), role: .server))
        for _ in 1...3 {
            #expect(try inflater.message(deflater.message(inPieces: [[], Array("Hello".utf8), [], []])) == Array("Hello".utf8))
        }
    }

    /// RFC 7692 §7.2.3.1, .2 and .6.
    @Test func `the output matches the examples of the RFC`() {
        let deflater = Deflater(parameters: .init(), role: .client)
        #expect(deflater.message(Array("Hello".utf8)) == [UInt8](hex: "f2 48 cd c9 c9 07 00"))
        #expect(deflater.message(Array("Hello".utf8)) == [UInt8](hex: "f2 00 11 00 00"))
        for _ in 1...3 { #expect(deflater.message([]) == [0]) }
        let noTakeover = Deflater(parameters: .init(takeover: false), role: .client)
        for _ in 1...3 { #expect(noTakeover.message(Array("Hello".utf8)) == [UInt8](hex: "f2 48 cd c9 c9 07 00")) }
    }

    @Test(arguments: 8...15)
    func `no match exceeds the agreed window`(windowBits: Int) throws {
        var messages = Messages(seed: 17)
        let deflater = Deflater(parameters: .init(windowBits: windowBits), role: .server, options: .init(level: 9))
        var reference = ReferenceInflate()
        for _ in 1...6 {
            let message = messages.text(count: 12_000, choice: 400)
            #expect(try reference.message(deflater.message(message)) == message)
        }
        #expect(reference.farthest <= 1 << windowBits)
        if windowBits > 8 { #expect(reference.farthest > 1 << (windowBits - 2), "the window is used") }
    }

    @Test func `each role compresses with its own parameters`() throws {
        let parameters = DeflateParameters(clientNoContextTakeover: true, serverMaxWindowBits: 9)
        let word = Array("Hello".utf8)
        let (client, server) = (Deflater(parameters: parameters, role: .client), Deflater(parameters: parameters, role: .server))
        #expect(client.message(word) == client.message(word))
        #expect(server.message(word) != server.message(word))

        var messages = Messages(seed: 2)
        let block = messages.noise(count: 2000)
        var (far, near) = (ReferenceInflate(), ReferenceInflate())
        _ = try far.message(Deflater(parameters: parameters, role: .client).message(block + block))
        _ = try near.message(Deflater(parameters: parameters, role: .server).message(block + block))
        #expect(far.farthest == 2000)
        #expect(near.farthest <= 512)
    }

    @Test func `options are clamped to the values of zlib`() {
        var options = CompressionOptions(level: 0, memoryLevel: 99)
        #expect((options.level, options.memoryLevel) == (1, 9))
        (options.level, options.memoryLevel) = (11, -3)
        #expect((options.level, options.memoryLevel) == (9, 1))
    }
}
