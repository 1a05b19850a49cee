import CodecCore
import HoldfastWAMP
import WAMPCore

/// What came over WAMP as a line of JSON, for programs.
enum WAMPLine {
    /// A result: the value if it is one, null if there is none, else its arguments; these in any case if `isFull`.
    static func result(_ arguments: WAMPArguments, isPart: Bool = false, isFull: Bool) -> String {
        let (list, keywords) = contents(arguments)
        if !isFull, keywords.isEmpty, list.count <= 1 { return (list.first ?? .null).jsonLine }
        var fields = self.fields(list, keywords)
        if isPart { fields["progress"] = true }
        return Value.map(fields).jsonLine
    }

    /// An event.
    static func event(topic: String, publication: WAMPID, publisher: WAMPID?, _ arguments: WAMPArguments) -> String {
        var fields: ValueMap = ["topic": .text(topic), "publication": Value(publication)]
        if let publisher { fields["publisher"] = Value(publisher) }
        return line(fields, arguments)
    }

    /// That events may be missing.
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

    /// That the router has taken an event.
    static func published(_ publication: WAMPID) -> String { Value.map(["publication": Value(publication)]).jsonLine }

    /// An invocation, as it is printed, and handed to a command.
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

    /// What the arguments hold; what was checked when it came can be read.
    private static func contents(_ arguments: WAMPArguments) -> ([Value], ValueMap) {
        ((try? arguments.list) ?? [], (try? arguments.keywords) ?? ValueMap())
    }
}
