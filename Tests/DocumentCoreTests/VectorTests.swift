import CodecCore
import DocumentCore
import Foundation
import Testing

/// What Yjs wrote is read, written and merged as Yjs does.
@Suite struct `Vectors of Yjs` {
    @Test(arguments: [UpdateVersion.v1, .v2]) func `a script of edits makes the same bytes in every step`(version: UpdateVersion) throws {
        for vector in try Vectors.lines("script") {
            var script = Script(client: UInt64(vector.number("client")), keepsDeleted: vector["gc"]?.bool == false)
            for (number, step) in vector.objects("steps").enumerated() {
                let op = step["op"] ?? .null
                try script.run(op)
                let update = script.document.commit(version)
                let expected = step.objects("updates").first?.bytes(version)
                guard update == expected else {
                    Issue.record(
                        "step \(number) of client \(script.document.client): \(op)\n \(update?.hex ?? "-")\n \(expected?.hex ?? "-")")
                    break
                }
            }
            #expect(script.dump.sorted == (vector["end"] ?? .null).sorted)
            #expect(script.document.stateVector == vector.bytes("sv"))
            #expect(try script.document.update(version) == vector["full"]?.bytes(version))
        }
    }

    @Test func `updates in any order end in the same document`() throws {
        for vector in try Vectors.lines("converge") {
            let updates = vector.objects("updates")
            for (number, order) in vector.objects("orders").enumerated() {
                var script = Script(client: 4_000_000_000 + UInt64(number))
                let version: UpdateVersion = number % 2 == 0 ? .v1 : .v2
                for index in order.items ?? [] { try script.document.apply(updates[index.int ?? 0].bytes(version), version) }
                #expect(!script.document.isPending)
                #expect(script.dump.sorted == (vector["end"] ?? .null).sorted)
                guard number == 0 else { continue }
                for version in UpdateVersion.allCases {
                    #expect(try script.document.update(version).canonical(version) == vector["full"]?.bytes(version).canonical(version))
                }
            }
        }
    }

    @Test func `nothing waits for ever, where Yjs does`() throws {
        for vector in try Vectors.lines("stuck") {
            var script = Script(client: 9)
            let updates = vector.objects("updates")
            for index in vector.numbers("order") { try script.document.apply(updates[index].bytes(.v1)) }
            #expect(!script.document.isPending)
            #expect(try script.document.text(#require(script.roots["text"])) == vector.string("text"))
        }
    }

    @Test func `updates are merged, compared and converted without a document`() throws {
        for vector in try Vectors.lines("updates") {
            let some = vector.objects("some").map { [UInt8](hex: $0.string ?? "") }
            let merged = try DocumentUpdate.merge(some)
            #expect(try merged == vector.bytes("merged").canonical(.v1))
            #expect(try DocumentUpdate.stateVector(of: merged) == vector.bytes("vector"))
            #expect(try DocumentUpdate.difference(merged, since: vector.bytes("sv")) == vector.bytes("diff").canonical(.v1))
            #expect(try DocumentUpdate.convert(merged, from: .v1, to: .v2) == vector.bytes("v2").canonical(.v2))
            var script = Script(client: 1, keepsDeleted: true)
            try script.document.apply(vector["full"]?.bytes(.v2) ?? [], .v2)
            #expect(script.dump.sorted == (vector["end"] ?? .null).sorted)
            for version in UpdateVersion.allCases {
                let bytes = vector["snapshot"]?.bytes(version) ?? []
                let snapshot = try DocumentSnapshot(bytes, version)
                #expect(snapshot.bytes(version) == bytes)
                var past = Script(client: 2, keepsDeleted: true)
                try past.document.apply(script.document.update(at: snapshot, version), version)
                #expect(past.dump.sorted == (vector["at"] ?? .null).sorted)
                #expect(past.document.snapshot.bytes(version) == bytes)
                #expect(try script.document.update(version).canonical(version) == vector["full"]?.bytes(version).canonical(version))
                #expect(
                    try script.document.update(since: vector.bytes("sv"), version).canonical(version)
                        == vector["rest"]?.bytes(version).canonical(version))
            }
        }
    }

    @Test func `documents of Yjs 13.2 are read`() throws {
        let file = try Value(json: [UInt8](Data(contentsOf: Vectors.folder.appending(path: "old-documents.json"))))
        for old in file.objects("documents") {
            var script = Script(client: 1)
            try script.document.apply([UInt8](try #require(Data(base64Encoded: old.string("v1")))))
            #expect(!script.document.isPending)
            #expect(script.dump[old.string("root")]?.plainTypes.sorted == (old["value"] ?? .null).sorted)
        }
    }
}

extension SharedDocument {
    func update(_ version: UpdateVersion) throws -> [UInt8] { try update(since: nil, version) }
}
