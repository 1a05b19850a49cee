import CodecCore
import Holdfast
import HoldfastTerminal
import HoldfastWAMP
import WAMPCore
import WAMPSigning

/// Formats WAMP messages as lines of JSON, for programs.
enum WAMPLine {
    /// Returns a line for a result: a single value as it is, null if there is none, else the arguments; with `isFull` always these.
    static func result(_ arguments: WAMPArguments, isPart: Bool = false, isFull: Bool) -> String {
        let (list, keywords) = contents(arguments)
        if !isFull, keywords.isEmpty, list.count <= 1 { return (list.first ?? .null).jsonLine }
        var fields = self.fields(list, keywords)
        if isPart { fields["progress"] = true }
        return Value.map(fields).jsonLine
    }

    /// Returns a line for an event.
    static func event(topic: String, publication: WAMPID, publisher: WAMPID?, _ arguments: WAMPArguments) -> String {
        var fields: ValueMap = ["topic": .text(topic), "publication": Value(publication)]
        if let publisher { fields["publisher"] = Value(publisher) }
        return line(fields, arguments)
    }

    /// Returns a line which reports that events may be missing.
    static func gap(_ gap: EventGap) -> String {
        let fields: ValueMap =
            switch gap {
            case .reconnected: ["gap": "reconnected"]
            case .filled(let events): ["gap": "filled", "events": .integer(Int64(events))]
            case .revoked(let reason): ["gap": "revoked", "reason": reason.map { .text($0) } ?? .null]
            case .dropped(let events): ["gap": "dropped", "events": .integer(Int64(events))]
            }
        return Value.map(fields).jsonLine
    }

    /// Returns a line which reports that the router has accepted an event.
    static func published(_ publication: WAMPID) -> String { Value.map(["publication": Value(publication)]).jsonLine }

    /// Returns a line for an invocation, which is printed and passed to a command.
    static func invocation(of procedure: String, caller: WAMPID?, _ arguments: WAMPArguments) -> String {
        var fields: ValueMap = ["procedure": .text(procedure)]
        if let caller { fields["caller"] = Value(caller) }
        return line(fields, arguments)
    }

    private static func line(_ first: ValueMap, _ arguments: WAMPArguments) -> String {
        let (list, keywords) = contents(arguments)
        return Value.map(ValueMap(first.entries + fields(list, keywords).entries)).jsonLine
    }

    private static func fields(_ list: [Value], _ keywords: ValueMap) -> ValueMap { ["args": .array(list), "kwargs": .map(keywords)] }

    /// Returns the decoded arguments; they were checked on arrival, so decoding succeeds.
    private static func contents(_ arguments: WAMPArguments) -> ([Value], ValueMap) {
        ((try? arguments.list) ?? [], (try? arguments.keywords) ?? ValueMap())
    }
}

extension WAMPError {
    /// The error as lines for people; control sequences from a peer are escaped.
    var lines: [String] {
        var lines = [description.escapedOnOneLine]
        if code == .refused || code == .dismissed, let list = try? arguments.list, let keywords = try? arguments.keywords {
            // The description already contains a single text.
            if list.count > 1 || (list.count == 1 && list[0].string == nil) { lines.append(Value.array(list).jsonLine) }
            if !keywords.isEmpty { lines.append(Value.map(keywords).jsonLine) }
        }
        if case .noSuchFunction(let name)? = underlying as? SigningError, name.hasPrefix("argon2") {
            lines.append("This tool has no Argon2: store the password hashed by PBKDF2 on the router, or use another method.")
        }
        if let error = underlying as? WebSocketError { lines += error.lines.dropFirst() }
        return lines
    }
}

/// How `wamp register` answers a call.
enum CallAnswer: Sendable {
    /// With the arguments of the call.
    case echo
    /// With the same value each time.
    case fixed(Value)
    /// With the output of a shell command, or with each line of it as a part.
    case command(String, inParts: Bool)

    /// Returns the result of a call; a command gets the call as a line on its standard input.
    ///
    /// - Throws: The error for the caller if the command fails.
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
