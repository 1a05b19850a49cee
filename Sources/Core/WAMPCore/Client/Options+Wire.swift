import MachineCore

internal import CodecCore

extension CallOptions {
    /// The options of CALL; what the dealer would not understand is left out.
    func wire(remaining: Duration?, inParts: Bool, router: RouterTraits) -> ValueMap {
        var options = other
        if let remaining, router.timesOut { options["timeout"] = .integer(min(max(remaining.wholeMilliseconds, 1), 1 << 52)) }
        if wantsProgress, router.givesProgress { options["receive_progress"] = true }
        if inParts { options["progress"] = true }
        if let discloseMe { options["disclose_me"] = .bool(discloseMe) }
        return options
    }
}

extension PublishOptions {
    /// The options of PUBLISH.
    var wire: ValueMap {
        var options = other
        if isAcknowledged { options["acknowledge"] = true }
        if !excludesMe { options["exclude_me"] = false }
        excluded.write(into: &options, as: "exclude")
        eligible.write(into: &options, as: "eligible")
        if let discloseMe { options["disclose_me"] = .bool(discloseMe) }
        if isRetained { options["retain"] = true }
        return options
    }
}

extension PublishOptions.Audience {
    fileprivate func write(into options: inout ValueMap, as name: String) {
        if let sessions { options[.text(name)] = .array(sessions.map { Value($0) }) }
        if let authIDs { options[.text(name + "_authid")] = .array(authIDs.map { .text($0) }) }
        if let authRoles { options[.text(name + "_authrole")] = .array(authRoles.map { .text($0) }) }
    }
}

extension RegisterOptions {
    /// The options of REGISTER.
    var wire: ValueMap {
        var options = other
        if match != .exact { options["match"] = .text(match.rawValue) }
        if sharing != .single { options["invoke"] = .text(sharing.rawValue) }
        if takesOver { options["force_reregister"] = true }
        return options
    }
}
