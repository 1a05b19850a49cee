import Foundation
import Holdfast
import HoldfastTerminal
import Testing

@testable import HoldfastTool

@Suite struct PinListingTests {
    /// A certificate of nothing but what is read of it.
    private static func certificate(_ name: String) throws -> ServerCertificate {
        func der(_ tag: UInt8, _ content: [UInt8]...) -> [UInt8] { [tag, UInt8(content.joined().count)] + content.joined() }
        let named = der(0x30, der(0x31, der(0x30, der(0x06, [0x55, 0x04, 0x03]), der(0x0C, Array(name.utf8)))))
        let time = der(0x17, Array("260101000000Z".utf8))
        let key = der(0x30, der(0x30, der(0x06, [0x2A])), der(0x03, [0, 1]))
        let fields = der(0x30, der(0x02, [7]), der(0x30, der(0x06, [0x2A])), named, der(0x30, time, time), named, key)
        return try #require(ServerCertificate(der: der(0x30, fields, der(0x30, der(0x06, [0x2A])), der(0x03, [0, 9]))))
    }

    @Test func `names of a certificate cannot drive a terminal, and are the same to a program`() throws {
        let evil = "a\u{9B}31m\u{202E}b"
        let listing = PinListing(host: "example.com", chain: [try Self.certificate(evil)])
        let json = try listing.json()
        for text in [json, listing.swift] {
            #expect(!text.unicodeScalars.contains { $0.drivesTerminal && $0 != "\n" })
        }
        #expect(json.contains(#"a\u009B31m\u202Eb"#) && json.contains("\n  \"chain\""))
        let row = try JSONDecoder().decode(Listing.self, from: Data(json.utf8)).chain[0]
        #expect(row.subject == evil && row.issuer == evil)
    }

    private struct Listing: Decodable {
        struct Row: Decodable { let subject, issuer: String }
        let chain: [Row]
    }
}
