import CodecCore
import HoldfastWAMP

/// How `wamp register` answers a call.
enum CallAnswer: Sendable {
    /// With what it came with.
    case echo
    /// With the same each time.
    case fixed(Value)
    /// With what a shell command prints, or with each line of that as a part.
    case command(String, inParts: Bool)

    /// The result of a call; a command gets the call as a line on its standard input.
    ///
    /// - Throws: What the caller is told if the command fails.
    func result(
        for arguments: WAMPArguments, line: String, part: (WAMPArguments) async throws -> Void
    ) async throws -> WAMPArguments {
        switch self {
        case .echo: return arguments
        case .fixed(let value): return WAMPArguments([value])
        case .command(let command, let inParts):
            var output = CommandOutput(isInParts: inParts)
            let end: ShellRun.End
            do {
                end = try await ShellRun(command: command, input: Array((line + "\n").utf8)).run { bytes in
                    for result in output.take(bytes) { try await part(result) }
                }
            } catch let failure as ShellRun.Failure {
                throw WAMPFailure(WAMPURI.Error.runtimeError, [.text("\(failure)")])
            }
            guard end.status == 0 else {
                throw WAMPFailure(
                    WAMPURI.Error.runtimeError, [.text(end.complaint)], keywords: ["status": .integer(Int64(end.status))])
            }
            return output.result
        }
    }
}
