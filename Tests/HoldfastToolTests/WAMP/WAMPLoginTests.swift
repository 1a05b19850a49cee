import ArgumentParser
import Foundation
import HoldfastWAMP
import Testing

@testable import HoldfastTool

@Suite struct WAMPLoginTests {
    private func problem(_ arguments: String...) -> String? {
        do {
            _ = try WAMPLoginOptions.parse(arguments)
            return nil
        } catch { return WAMPLoginOptions.message(for: error) }
    }

    @Test(arguments: [("cra", "cra"), ("wampcra", "cra"), ("wamp-scram", "scram"), ("ticket", "ticket"), ("cryptosign", "cryptosign")])
    func `methods have their names here, and those of WAMP`(argument: String, method: String) throws {
        #expect(try WAMPLoginOptions.parse(["--auth", argument, "--user", "ann"]).auth?.rawValue == method)
    }

    @Test func `a key of cryptosign needs no name`() throws {
        let key = ["--auth", "cryptosign", "--secret", String(repeating: "0f", count: 32)]
        #expect(try WAMPLoginOptions.parse(key).authentication(environment: [:]).authID == nil)
        #expect(try WAMPLoginOptions.parse(key + ["--user", "ann"]).authentication(environment: [:]).authID == "ann")
        #expect(problem("--auth", "cryptosign", "--user", "")?.contains("--user") == true)
    }

    @Test func `a secret comes from the command line, a file, or the environment`() throws {
        let variable = [WAMPLoginOptions.secretVariable: "from the environment"]
        let login = ["--auth", "ticket", "--user", "ann"]
        #expect(try WAMPLoginOptions.parse(login + ["--secret", "given"]).secret(environment: variable) == "given")
        #expect(try WAMPLoginOptions.parse(login).secret(environment: variable) == "from the environment")
        let file = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("in the file\nnot this\n".utf8).write(to: file)
        #expect(try WAMPLoginOptions.parse(login + ["--secret-file", file.path]).secret(environment: variable) == "in the file")
        #expect(throws: (any Error).self) { try WAMPLoginOptions.parse(login).secret(environment: [:]) }
    }

    @Test func `what makes no sense says so, and never the secret`() throws {
        #expect(problem("--auth", "ticket")?.contains("--user") == true)
        #expect(problem("--user", "ann")?.contains("--auth") == true)
        #expect(problem("--auth", "nonsense", "--user", "ann")?.contains("nonsense") == true)
        #expect(problem("--auth", "ticket", "--user", "ann", "--secret-file", "/nonexistent")?.contains("cannot read") == true)
        let both = try #require(problem("--auth", "ticket", "--user", "ann", "--secret", "s3same", "--secret-file", "/dev/null"))
        #expect(both.contains("exclude each other") && !both.contains("s3same"))
        let none = try #require(problem("--secret", "s3same"))
        #expect(none.contains("--auth") && !none.contains("s3same"))
    }
}
