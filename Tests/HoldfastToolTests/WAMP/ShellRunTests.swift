import Foundation
import Testing

@testable import HoldfastTool

@Suite struct ShellRunTests {
    private func run(_ command: String, input: String = "") async throws -> (output: String, end: ShellRun.End) {
        var output: [UInt8] = []
        let end = try await ShellRun(command: command, input: Array(input.utf8)).run { output += $0 }
        return (String(decoding: output, as: UTF8.self), end)
    }

    @Test func `a command gets its input, and says what it prints and how it ended`() async throws {
        let (output, end) = try await run("tr a-z A-Z; echo no >&2; exit 3", input: "hello")
        #expect(output == "HELLO")
        #expect(end == ShellRun.End(status: 3, complaint: "no"))
    }

    @Test func `a command that does not read its input is waited for all the same`() async throws {
        let (output, end) = try await run("echo done", input: String(repeating: "x", count: 1 << 20))
        #expect(output == "done\n" && end.status == 0)
    }

    @Test func `of what it complains about the end is kept`() async throws {
        let (_, end) = try await run("head -c 100000 /dev/zero | tr '\\0' x >&2; echo last >&2")
        #expect(end.complaint.utf8.count <= ShellRun.complaintLimit && end.complaint.hasSuffix("last"))
    }

    @Test func `a command that prints without end is ended`() async {
        await #expect(throws: ShellRun.Failure.tooLong) { try await run("yes") }
    }

    @Test func `a cancelled command ends with what it has started`() async {
        // Both processes have the pipe; the run is over when both are gone.
        let task = Task { try await run("sleep 600 & echo started; wait") }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a command does not get our secrets`() async throws {
        let secrets = ["HOLDFAST_BEARER", "HOLDFAST_PASSPHRASE", "HOLDFAST_PASSWORD", "HOLDFAST_TOKEN", "HOLDFAST_WAMP_SECRET"]
        let environment = Dictionary(uniqueKeysWithValues: (secrets + ["PATH"]).map { ($0, "x") })
        #expect(ShellRun.withoutSecrets(environment) == ["PATH": "x"])
        setenv("HOLDFAST_PASSPHRASE", "sesame", 1)
        defer { unsetenv("HOLDFAST_PASSPHRASE") }
        #expect(try await run("echo ${HOLDFAST_PASSPHRASE-none}").output == "none\n")
    }

    @Test func `a signal is told as a shell does`() async throws {
        #expect(try await run("kill -9 $$").end.status == 137)
    }
}
