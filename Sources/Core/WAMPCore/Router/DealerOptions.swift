import CodecCore

extension Dealer {
    /// Why a request is not granted.
    enum Fault: Error {
        /// It is answered with an error URI and a text for people.
        case refused(uri: String, String)
        /// It violates the protocol.
        case breach(String)
    }

    /// The options of a REGISTER; unknown options are ignored.
    struct RegisterRequest {
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
            else { throw .refused(uri: WAMPURI.Error.invalidArgument, "an option has an invalid value") }
            (self.match, self.sharing) = (match, sharing)
        }
    }

    /// The options of a CALL that starts a call; unknown options are ignored.
    struct CallRequest {
        var wantsProgress = false
        /// Whether the caller wants to be disclosed; nil: no preference.
        var disclosesMe: Bool?
        /// In milliseconds; nil: no timeout.
        var timeout: Int64?

        init(_ options: ValueMap) throws(Fault) {
            // Most calls have no options.
            guard !options.entries.isEmpty else { return }
            do throws(OptionError) {
                wantsProgress = try options.flag("receive_progress") ?? false
                disclosesMe = try options.flag("disclose_me")
                timeout = try options.integer("timeout").map { Int64($0) }
            } catch { throw .breach(error.words) }
            if let timeout, timeout < 0 { throw .refused(uri: WAMPURI.Error.invalidArgument, "a timeout must be at least 0") }
            if timeout == 0 { timeout = nil }
        }
    }
}

/// An option has the wrong type, which is a protocol violation.
struct OptionError: Error, Hashable, Sendable {
    /// The name of the option.
    let name: String

    /// The text for the client.
    var words: String { "the option \(name) is of the wrong type" }
}

extension ValueMap {
    /// Returns a Boolean option; nil if it is missing.
    func flag(_ name: String) throws(OptionError) -> Bool? { try option(name) { $0.bool } }
    /// Returns a text option; nil if it is missing.
    func text(_ name: String) throws(OptionError) -> String? { try option(name) { $0.string } }
    /// Returns an integer option; nil if it is missing.
    func integer(_ name: String) throws(OptionError) -> Int? { try option(name) { $0.int } }

    /// Returns an option that is a list of such items; nil if it is missing.
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
    /// The message without the options that have a wrong type.
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
    /// Whether an option has the type of the specification; unknown options count as correct.
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
