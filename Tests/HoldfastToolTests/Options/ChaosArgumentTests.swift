import Foundation
import Testing

@testable import HoldfastTool

@Suite struct ChaosArgumentTests {
    @Test(arguments: [("localhost:9001", "localhost", 9001), ("127.0.0.1:1", "127.0.0.1", 1), ("[::1]:65535", "::1", 65_535)])
    func `a target is a host and a port, and says so`(text: String, host: String, port: Int) {
        let target = HostAndPort(argument: text)
        #expect(target?.host == host && target?.port == port)
        #expect(target?.description == text)
    }

    @Test(arguments: [
        "", "localhost", ":9001", "localhost:", "localhost:0", "localhost:65536", "localhost:+1", "::1:9001", "[]:1", "a b:1", "a\u{1B}:1",
        "a:٣",
    ])
    func `what is no target is refused`(text: String) {
        #expect(HostAndPort(argument: text) == nil)
    }

    @Test func `a script is the text, or in a file`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("chaos-\(UUID().uuidString).txt")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("cut # at once\n".utf8).write(to: file)
        #expect(try ScriptArgument.parse("@\(file.path)") == ScriptArgument.parse("cut"))
        for text in ["ct", "", "@\(file.path).none", "@/"] {
            #expect(throws: (any Error).self) { try ScriptArgument.parse(text) }
        }
    }
}
