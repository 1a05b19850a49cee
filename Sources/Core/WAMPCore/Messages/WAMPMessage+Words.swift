import CodecCore
import MachineCore

extension WAMPMessage {
    /// Returns a readable text for logs: `CALL #7 com.app.add2 (2 args, timeout 5 s)`, `EVENT com.app.chat #5862354 (1 arg)`.
    ///
    /// Numbers with a `#` are those of requests and publications. Credentials are never shown: signatures, tickets, and the values that
    /// come with them.
    ///
    /// - Parameter wording: Names for numbers, and whether payloads are shown.
    public func words(_ wording: WAMPWording = WAMPWording()) -> String {
        let (subject, notes) = sentence(wording)
        var words = subject.isEmpty ? name : "\(name) \(subject)"
        if !notes.isEmpty { words += " (\(notes.joined(separator: ", ")))" }
        if wording.payloadLimit > 0, let arguments, !arguments.isEmpty {
            words += " " + Self.cut(Secrecy.hidingAnnounced(arguments.debugDescription), to: wording.payloadLimit)
        }
        return words
    }

    /// Returns the text after the message's name, and the notes in brackets.
    private func sentence(_ wording: WAMPWording) -> (subject: String, notes: [String]) {
        func shown(_ uri: String) -> String { WAMPWording.shown(uri) }
        func about(_ kind: WAMPRequestKind, _ request: WAMPID) -> String {
            wording.request(kind, request).map { "#\(request) \(shown($0))" } ?? "#\(request)"
        }
        func topic(_ id: WAMPID) -> String { wording.topic(id).map(shown) ?? "of subscription \(id)" }
        func procedure(_ id: WAMPID) -> String { wording.procedure(id).map(shown) ?? "of registration \(id)" }
        switch self {
        case .hello(let realm, let details): return (shown(realm), Self.helloNotes(details))
        case .welcome(let session, let details): return ("to session \(session)", Self.welcomeNotes(details))
        case .challenge(let method, _): return (shown(method), [])
        case .authenticate: return ("", ["redacted"])
        case .abort(let details, let reason, let arguments), .goodbye(let details, let reason, let arguments):
            let message = details["message"]?.string.map { [WAMPWording.quoted(Self.cut($0, to: 200))] } ?? []
            return (shown(reason), message + (arguments.isEmpty ? [] : [arguments.description]))
        case .error(let kind, let request, _, let uri, let arguments):
            let what = Self.name(ofType: kind.rawValue) ?? ""
            let name = wording.request(kind, request).map { " \(shown($0))" } ?? ""
            return ("#\(request) \(shown(uri))", ["of \(what)\(name)"] + (arguments.isEmpty ? [] : [arguments.description]))
        case .publish(let request, let options, let uri, let arguments), .call(let request, let options, let uri, let arguments):
            return ("#\(request) \(shown(uri))", [arguments.description] + Self.optionNotes(options))
        case .published(let request, let publication): return ("\(about(.publish, request)) as #\(publication)", [])
        case .subscribe(let request, let options, let uri), .register(let request, let options, let uri):
            return ("#\(request) \(shown(uri))", Self.optionNotes(options))
        case .subscribed(let request, let id): return ("\(about(.subscribe, request)) as subscription \(id)", [])
        case .registered(let request, let id): return ("\(about(.register, request)) as registration \(id)", [])
        case .unsubscribe(let request, let id): return ("#\(request) \(topic(id))", [])
        case .unregister(let request, let id): return ("#\(request) \(procedure(id))", [])
        case .unsubscribed(0, let details): return ("by the router", Self.revocationNotes(details, "subscription", wording.topic))
        case .unregistered(0, let details): return ("by the router", Self.revocationNotes(details, "registration", wording.procedure))
        case .unsubscribed(let request, _): return (about(.unsubscribe, request), [])
        case .unregistered(let request, _): return (about(.unregister, request), [])
        case .event(let id, let publication, let details, let arguments):
            return ("\(topic(id)) #\(publication)", [arguments.description] + Self.optionNotes(details))
        case .cancel(let request, let options): return (about(.call, request), Self.optionNotes(options))
        case .interrupt(let request, let options): return (about(.invocation, request), Self.optionNotes(options))
        case .result(let request, let details, let arguments):
            return (about(.call, request), [arguments.description] + Self.optionNotes(details))
        case .invocation(let request, let id, let details, let arguments):
            return ("#\(request) \(procedure(id))", [arguments.description] + Self.optionNotes(details))
        case .yield(let request, let options, let arguments):
            return (about(.invocation, request), [arguments.description] + Self.optionNotes(options))
        }
    }

    private var arguments: WAMPArguments? {
        switch self {
        case .abort(_, _, let arguments), .goodbye(_, _, let arguments), .error(_, _, _, _, let arguments),
            .publish(_, _, _, let arguments), .call(_, _, _, let arguments), .event(_, _, _, let arguments),
            .invocation(_, _, _, let arguments), .result(_, _, let arguments), .yield(_, _, let arguments):
            arguments
        default: nil
        }
    }

    private static func helloNotes(_ details: ValueMap) -> [String] {
        var notes: [String] = []
        if let authID = details["authid"]?.string { notes.append("as \(WAMPWording.shown(authID))") }
        if let methods = details["authmethods"]?.items?.compactMap(\.string), !methods.isEmpty {
            notes.append("by " + methods.prefix(8).map { WAMPWording.shown($0, limit: 40) }.joined(separator: " or "))
        }
        return notes
    }

    private static func welcomeNotes(_ details: ValueMap) -> [String] {
        var notes: [String] = []
        if let authID = details["authid"]?.string { notes.append("as \(WAMPWording.shown(authID))") }
        if let role = details["authrole"]?.string { notes.append("role \(WAMPWording.shown(role))") }
        if let method = details["authmethod"]?.string { notes.append("by \(WAMPWording.shown(method, limit: 40))") }
        return notes
    }

    private static func revocationNotes(_ details: ValueMap, _ kind: Value, _ name: (WAMPID) -> String?) -> [String] {
        var notes: [String] = []
        if let id = details[kind]?.int.flatMap({ WAMPID(exactly: $0) }) {
            notes.append(name(id).map { WAMPWording.shown($0) } ?? "\(kind.string ?? "") \(id)")
        }
        if let reason = details["reason"]?.string { notes.append(WAMPWording.shown(reason)) }
        return notes
    }

    /// Returns notes on the options and details that say how a request runs.
    private static func optionNotes(_ options: ValueMap) -> [String] {
        var notes: [String] = []
        for entry in options {
            switch (entry.key, entry.value) {
            case ("timeout", .integer(let milliseconds)) where milliseconds > 0: notes.append("timeout \(duration(milliseconds))")
            case ("progress", true), ("receive_progress", true): notes.append("progress")
            case ("acknowledge", true): notes.append("acknowledged")
            case ("retain", true), ("retained", true): notes.append("retained")
            case ("get_retained", true): notes.append("with the retained event")
            case ("exclude_me", false): notes.append("also to me")
            case ("force_reregister", true): notes.append("taken over")
            case ("match", .text(let match)) where match != "exact": notes.append(WAMPWording.shown(match, limit: 40))
            case ("invoke", .text(let sharing)) where sharing != "single": notes.append(WAMPWording.shown(sharing, limit: 40))
            case ("mode", .text(let mode)): notes.append(WAMPWording.shown(mode, limit: 40))
            case ("topic", .text(let uri)), ("procedure", .text(let uri)): notes.append(WAMPWording.shown(uri))
            case ("reason", .text(let uri)): notes.append(WAMPWording.shown(uri))
            default: break
            }
        }
        return notes
    }

    private static func duration(_ milliseconds: Int64) -> String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }

    private static func cut(_ text: String, to limit: Int) -> String {
        text.count > limit ? String(text.prefix(limit)) + "…" : text
    }
}

extension WAMPMessage: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The message as a readable text, without its payload.
    public var description: String { words() }

    /// The message as a readable text, with the first 1,000 characters of its payload; secrets are hidden here, too.
    public var debugDescription: String { words(WAMPWording(payloadLimit: 1000)) }

    /// The message as a readable text, so that neither `dump` nor a crash report shows secrets.
    public var customMirror: Mirror { Mirror(self, children: ["message": description]) }
}

/// How a message is described in a text: names for numbers, and whether payloads are shown.
public struct WAMPWording {
    /// The number of characters of a payload that are shown; 0: only the number of its values is shown.
    public var payloadLimit: Int
    /// Returns the topic of a subscription ID, if it is known.
    public var topic: (WAMPID) -> String?
    /// Returns the procedure of a registration ID, if it is known.
    public var procedure: (WAMPID) -> String?
    /// Returns the subject of a request, if it is known: the procedure of a call, the topic of a subscription.
    public var request: (WAMPRequestKind, WAMPID) -> String?

    /// Creates a wording; by default it has no payloads and no names.
    public init(
        payloadLimit: Int = 0, topic: @escaping (WAMPID) -> String? = { _ in nil }, procedure: @escaping (WAMPID) -> String? = { _ in nil },
        request: @escaping (WAMPRequestKind, WAMPID) -> String? = { _, _ in nil }
    ) {
        (self.payloadLimit, self.topic, self.procedure, self.request) = (payloadLimit, topic, procedure, request)
    }

    /// Returns a text of a peer for display: control characters and spaces only in quotes, and 200 characters at most by default.
    static func shown(_ text: String, limit: Int = 200) -> String {
        let isPlain = !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.isGraphic }
        let short = text.count > limit ? String(text.prefix(limit)) + "…" : text
        return isPlain ? short : quoted(short)
    }

    /// Returns a text in quotes, with control characters as escapes.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            let isPlain = scalar == " " || scalar.properties.isGraphic && scalar != "\"" && scalar != "\\"
            quoted += isPlain ? String(scalar) : scalar.escaped(asASCII: true)
        }
        return quoted + "\""
    }
}

extension Unicode.Scalar.Properties {
    /// Whether the character is visible and does not change how its neighbours are shown.
    fileprivate var isGraphic: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator: false
        default: true
        }
    }
}
