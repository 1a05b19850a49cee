import CodecCore

extension Dealer {
    /// Why a request is not granted.
    enum Fault: Error {
        /// It is answered with an error, and words for people.
        case refused(uri: String, String)
        /// It breaks the protocol.
        case breach(String)
    }

    /// What a REGISTER says of itself; unknown options are ignored.
    struct RegisterWish {
        let match: WAMPMatch
        let sharing: RegisterOptions.Sharing
        let takesOver: Bool
        let offer: Offer

        init(_ options: ValueMap) throws(Fault) {
            let words: (match: String?, invoke: String?)
            let count: Int?
            do throws(OptionError) {
                words = (try options.text("match"), try options.text("invoke"))
                takesOver = try options.flag("force_reregister") ?? false
                count = try options.integer("concurrency")
                offer = Offer(
                    wantsCaller: try options.flag("disclose_caller") ?? false,
                    keepsTimeouts: try options.flag("forward_timeout") ?? false, capacity: count)
            } catch { throw .breach(error.words) }
            guard let match = WAMPMatch(rawValue: words.match ?? WAMPMatch.exact.rawValue),
                let sharing = RegisterOptions.Sharing(rawValue: words.invoke ?? RegisterOptions.Sharing.single.rawValue), count ?? 1 > 0
            else { throw .refused(uri: WAMPURI.Error.invalidArgument, "an option has a value that it cannot have") }
            (self.match, self.sharing) = (match, sharing)
        }
    }

    /// What a CALL that begins one says of itself; unknown options are ignored.
    struct CallWish {
        var wantsProgress = false
        /// nil: the caller does not care.
        var disclosesMe: Bool?
        /// In milliseconds; nil: for ever.
        var timeout: Int64?

        init(_ options: ValueMap) throws(Fault) {
            // Most have none.
            guard !options.entries.isEmpty else { return }
            do throws(OptionError) {
                wantsProgress = try options.flag("receive_progress") ?? false
                disclosesMe = try options.flag("disclose_me")
                timeout = try options.integer("timeout").map { Int64($0) }
            } catch { throw .breach(error.words) }
            if let timeout, timeout < 0 { throw .refused(uri: WAMPURI.Error.invalidArgument, "a timeout is at least 0") }
            if timeout == 0 { timeout = nil }
        }
    }
}

/// An option is of another type than the specification has: a breach of the protocol.
struct OptionError: Error, Hashable, Sendable {
    /// Which.
    let name: String

    /// What the client is told.
    var words: String { "the option \(name) is of the wrong type" }
}

extension ValueMap {
    /// An option that is true or false, or nil if it is missing.
    func flag(_ name: String) throws(OptionError) -> Bool? { try option(name) { $0.bool } }
    /// An option that is a text, or nil if it is missing.
    func text(_ name: String) throws(OptionError) -> String? { try option(name) { $0.string } }
    /// An option that is an integer, or nil if it is missing.
    func integer(_ name: String) throws(OptionError) -> Int? { try option(name) { $0.int } }

    /// An option that is a list of these, or nil if it is missing.
    func set<Item: Hashable>(_ name: String, _ read: (Value) -> Item?) throws(OptionError) -> Set<Item>? {
        guard let items = try option(name, { $0.items }) else { return nil }
        let read = items.compactMap(read)
        guard read.count == items.count else { throw OptionError(name: name) }
        return Set(read)
    }

    private func option<Option>(_ name: String, _ read: (Value) -> Option?) throws(OptionError) -> Option? {
        guard let value = self[.text(name)] else { return nil }
        guard let option = read(value) else { throw OptionError(name: name) }
        return option
    }
}

// See ``RouterPolicy/Quirks/ignoresMistakes``.
extension WAMPMessage {
    /// The same without the options that are of a wrong type.
    var withoutMistakes: WAMPMessage {
        switch self {
        case .publish(let request, let options, let topic, let arguments):
            .publish(request: request, options: options.withoutMistakes, topic: topic, arguments)
        case .subscribe(let request, let options, let topic): .subscribe(request: request, options: options.withoutMistakes, topic: topic)
        case .call(let request, let options, let procedure, let arguments):
            .call(request: request, options: options.withoutMistakes, procedure: procedure, arguments)
        case .cancel(let request, let options): .cancel(request: request, options: options.withoutMistakes)
        case .register(let request, let options, let procedure):
            .register(request: request, options: options.withoutMistakes, procedure: procedure)
        case .yield(let request, let options, let arguments): .yield(request: request, options: options.withoutMistakes, arguments)
        default: self
        }
    }
}

extension ValueMap {
    fileprivate var withoutMistakes: ValueMap { ValueMap(entries.filter(\.isOfItsType)) }
}

extension ValueMap.Entry {
    /// Whether an option is of the type that the specification has; so is one that nobody here knows.
    fileprivate var isOfItsType: Bool {
        switch key {
        case "acknowledge", "disclose_caller", "disclose_me", "exclude_me", "force_reregister", "forward_timeout", "get_retained",
            "progress", "receive_progress", "retain":
            value.bool != nil
        case "invoke", "match", "mode": value.string != nil
        case "concurrency", "timeout": value.int != nil
        case "eligible", "exclude": value.items?.allSatisfy { $0.int ?? 0 > 0 } ?? false
        case "eligible_authid", "eligible_authrole", "exclude_authid", "exclude_authrole":
            value.items?.allSatisfy { $0.string != nil } ?? false
        default: true
        }
    }
}
