import ArgumentParser
import Testing

@testable import HoldfastTool

@Suite struct QuotesArgumentTests {
    private func problem(_ arguments: [String]) -> String? {
        do {
            _ = try HoldfastCommand.parseAsRoot(arguments)
            return nil
        } catch {
            return HoldfastCommand.message(for: error)
        }
    }

    @Test(arguments: [
        (["--symbols", "0"], "--symbols"), (["--symbols", "10001"], "--symbols"), (["--rate", "0"], "--rate"),
        (["--rate", "50001"], "1 to 50000"), (["--symbols", "1", "--rate", "101"], "1 symbol can have 1 to 100"),
        (["--drop", "1.5"], "--drop"), (["--drop=-0.1"], "--drop"), (["--drop", "nan"], "--drop"), (["--port", "70000"], "not a port"),
        (["--tls-cert", "a"], "go together"),
    ])
    func `a server of quotes refuses what it cannot do`(options: [String], said: String) {
        #expect(problem(["serve", "quotes"] + options)?.contains(said) == true)
    }

    @Test(arguments: [
        [], ["--symbols", "10000", "--rate", "1000000", "--drop", "1"], ["--seed", "18446744073709551615", "--no-bursts"], ["--bursts"],
        ["--tls-self-signed", "--metrics", "--quiet", "-p", "0"],
    ])
    func `a server of quotes takes what it can do`(options: [String]) {
        #expect(problem(["serve", "quotes"] + options) == nil)
    }

    private static let url = "ws://127.0.0.1:1/feed"

    @Test(arguments: [
        ([], "Missing"), (["http://127.0.0.1/"], "use ws: or wss:"), ([url, "a b"], "is not a symbol"), ([url, ""], "is not a symbol"),
        ([url, "--rate", "0"], "--rate"), ([url, "--rate", "1001"], "--rate"), ([url, "--rows", "0"], "--rows"),
        ([url, "--every", "0"], "--every"), ([url, "--encoding", "xml"], "--encoding"), ([url, "--subprotocol", "x"], "--encoding"),
        ([url] + Array(repeating: "A", count: 101), "at most 100"),
    ])
    func `a board refuses what it cannot show`(options: [String], said: String) {
        #expect(problem(["quotes"] + options)?.contains(said) == true)
    }

    @Test(arguments: [
        [url], [url, "BANK*", "SAIL", "?"], [url, "--encoding", "protobuf", "--rate", "30", "--rows", "5", "--for", "1.5"],
        [url, "--plain", "--json", "--every", "0.1"],
    ])
    func `a board takes what it can show`(options: [String]) {
        #expect(problem(["quotes"] + options) == nil)
    }
}
