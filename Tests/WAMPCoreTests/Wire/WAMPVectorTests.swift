import CodecCore
import Testing
import WAMPCore

@Suite struct WAMPVectorTests {
    @Test(arguments: WAMPVector.all) func `every message is decoded alike in all three serializations`(vector: WAMPVector) throws {
        let json = try wampMessage(vector.bytes(.json), .json)
        #expect(try wampMessage(vector.bytes(.messagePack), .messagePack) == json)
        #expect(try wampMessage(vector.bytes(.cbor), .cbor) == json)
        #expect(Set(try WAMPSerialization.allCases.map { try wampMessage(vector.bytes($0), $0) }).count == 1)
    }

    @Test(arguments: WAMPVector.all, WAMPSerialization.allCases)
    func `the encoded message equals that of another implementation`(vector: WAMPVector, serialization: WAMPSerialization) throws {
        let bytes = vector.bytes(serialization)
        let message = try wampMessage(bytes, serialization)
        #expect(try message.encoded(as: serialization) == bytes)
        #expect(try message.withValues().encoded(as: serialization) == bytes)
    }

    @Test(arguments: WAMPVector.all) func `a forwarded message equals one encoded in that serialization`(vector: WAMPVector) throws {
        for origin in WAMPSerialization.allCases {
            let message = try wampMessage(vector.bytes(origin), origin)
            for target in WAMPSerialization.allCases {
                #expect(try message.encoded(as: target) == vector.bytes(target), "\(origin) to \(target)")
            }
        }
    }

    @Test func `the vectors include every message`() throws {
        let types = Set(try WAMPVector.all.map { try wampMessage($0.bytes(.json), .json).type })
        #expect(types == [1, 2, 3, 4, 5, 6, 8, 16, 17, 32, 33, 34, 35, 36, 48, 49, 50, 64, 65, 66, 67, 68, 69, 70])
    }

    @Test func `a call has the form of the specification`() throws {
        let call = try wampMessage(json: #"[48, 7814135, {}, "com.myapp.user.new", ["johnny"], {"firstname": "John", "surname": "Doe"}]"#)
        let arguments = WAMPArguments(["johnny"], keywords: ["firstname": "John", "surname": "Doe"])
        #expect(call == .call(request: 7_814_135, options: [:], procedure: "com.myapp.user.new", arguments))
    }

    @Test(arguments: WAMPVector.all, WAMPSerialization.allCases)
    func `a truncated message is refused`(vector: WAMPVector, serialization: WAMPSerialization) throws {
        let bytes = vector.bytes(serialization)
        for end in 0..<bytes.count {
            #expect(throws: WAMPFormatError.self, "cut at \(end)") { try wampMessage(Array(bytes[..<end]), serialization) }
        }
        #expect(throws: WAMPFormatError.self) { try wampMessage(bytes + [0], serialization) }
    }

    @Test(arguments: WAMPVector.all, WAMPSerialization.allCases)
    func `a changed byte gives another message or an error`(vector: WAMPVector, serialization: WAMPSerialization) throws {
        let bytes = vector.bytes(serialization)
        for place in bytes.indices {
            for change: UInt8 in [0x01, 0x80, 0xFF, 0x20] {
                var changed = bytes
                changed[place] ^= change
                guard let message = try? wampMessage(changed, serialization) else { continue }
                // The accepted message can be decoded completely and forwarded.
                _ = try message.withValues()
                for target in WAMPSerialization.allCases {
                    let written = try message.encoded(as: target)
                    #expect(throws: Never.self, "\(place) ^ \(change) in \(target)") { try wampMessage(written, target) }
                }
            }
        }
    }
}
