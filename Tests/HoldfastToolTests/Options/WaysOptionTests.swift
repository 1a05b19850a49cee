import ArgumentParser
import Foundation
import Holdfast
import Testing

@testable import HoldfastTool

/// The options that say by which way a server is reached, and who we are to it.
@Suite struct WaysOptionTests {
    private func configuration(_ arguments: String..., environment: [String: String] = [:]) throws -> WebSocketConfiguration {
        try configuration(of: arguments, environment)
    }

    private func configuration(of arguments: [String], _ environment: [String: String] = [:]) throws -> WebSocketConfiguration {
        try ConnectionOptions.parse(arguments).configuration(for: WebSocketURL("wss://example.com/"), environment: environment)
    }

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "hf-\(UInt32.random(in: .min ... .max))")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try body(file.path)
    }

    @Test func `the environment's proxy is taken unless the command line says otherwise`() throws {
        let environment = ["ALL_PROXY": "socks5://there:1"]
        #expect(try configuration(environment: environment).proxy == .environment(ProxyEnvironment(environment)))
        #expect(try configuration("--no-proxy", environment: environment).proxy == .direct)
        #expect(try configuration("--proxy", "http://here:2", environment: environment).proxy == .through(Proxy("http://here:2")))
    }

    @Test func `redirects are followed when asked for, and elsewhere when asked for twice as much`() throws {
        #expect(try configuration().redirects == .never)
        #expect(try configuration("--follow").redirects == RedirectPolicy(reach: .sameHost))
        #expect(try configuration("--follow-anywhere").redirects == RedirectPolicy(reach: .anyHost))
    }

    @Test func `the password is on the command line, in a file or in the environment`() throws {
        let environment = ["HOLDFAST_PASSWORD": "open sesame", "HOLDFAST_BEARER": "t"]
        func sent(_ arguments: [String]) throws -> String? {
            try configuration(of: arguments, environment).headers["Authorization"]
        }
        #expect(try sent(["--basic", "Aladdin:open:"]) == "Basic QWxhZGRpbjpvcGVuOg==")
        #expect(try sent(["--basic", "Aladdin"]) == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        for text in ["a", "a\n", "a\r\nb\n"] {
            try withFile(text) { path in
                let field = try sent(["--basic", "Aladdin", "--password-file", path])
                #expect(field == "Basic QWxhZGRpbjph")
            }
        }
        #expect(try sent([]) == "Bearer t")
    }

    @Test(
        arguments: [
            ["--basic", "a"], ["--basic", "a:b\u{1}"], ["--basic", "a:b", "--bearer", "t"],
            ["--basic", "a:b", "--header", "authorization: x"],
            ["--password-file", "/dev/null"], ["--basic", "a:b", "--password-file", "/dev/null"],
            ["--basic", "a", "--password-file", "/nowhere"], ["--proxy", "http://h", "--no-proxy"], ["--follow", "--follow-anywhere"],
            ["--proxy", "gopher://h"], ["--proxy-ca", "/nowhere"], ["--cookies", "/dev"],
        ])
    func `what does not go together, or cannot be read, is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { try configuration(of: arguments) }
    }

    @Test func `cookies are kept in a file that nobody else may read`() throws {
        try withFile("") { path in
            try FileManager.default.removeItem(atPath: path)
            let store = try #require(try configuration("--cookies", path).cookies)
            #expect(!FileManager.default.fileExists(atPath: path))
            let url = try WebSocketURL("wss://example.com/")
            store.take(["Set-Cookie": "a=1"], from: url, at: 0)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try configuration("--cookies", path).cookies?.jar.cookies.map(\.name) == ["a"])
            try Data("[{}]".utf8).write(to: URL(filePath: path))
            #expect(throws: ValidationError.self) { try configuration("--cookies", path) }
        }
    }
}
