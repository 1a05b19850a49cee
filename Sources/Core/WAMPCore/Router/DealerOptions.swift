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

extension ValueMap {
    /// An option that is an integer, or nil if it is missing.
    func integer(_ name: String) throws(OptionError) -> Int? {
        guard let value = self[.text(name)] else { return nil }
        guard let number = value.int else { throw OptionError(name: name) }
        return number
    }
}
