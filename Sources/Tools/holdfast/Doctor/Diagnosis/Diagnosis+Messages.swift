extension Diagnosis {
    static func messages(_ seen: Observations) -> [Finding] {
        let usual: [Trial] = [.text, .binary, .fragmented, .pingWithin, .empty]
        return usual.compactMap { trial in seen[trial].map { taken(trial, $0, seen) } }
            + [invalidText(seen), unmasked(seen)].compactMap { $0 }
    }

    /// What every server should live with.
    private static func taken(_ trial: Trial, _ reaction: Reaction, _ seen: Observations) -> Finding {
        func finding(_ severity: Finding.Severity, _ text: String, _ advice: String? = nil) -> Finding {
            Finding(.messages, trial.rawValue, severity, text, advice: advice)
        }
        let words = trial.words
        switch reaction.kind {
        case .echoed where reaction.isPongInTime == false:
            return finding(
                .warning, "\(words) is answered only when the message is complete",
                "while a long message is on its way, pings say nothing: let them take longer (WebSocketTimeouts.ping)")
        case .echoed: return finding(.good, "\(words): echoed in \(reaction.ms.msPhrase)")
        case .answered where seen.pings.map({ $0.messages > 0 }) ?? false:
            return finding(.good, "\(words): taken; what came then may be an answer or not, for this server also speaks unasked")
        case .answered: return finding(.good, "\(words): answered with \(reaction.detail ?? "something else")")
        case .silent: return finding(.good, "\(words): taken, and not answered")
        case .closed: return closed(trial, reaction, seen)
        case .hungUp:
            return finding(
                .broken, "the server drops the connection on \(words), without a close frame",
                trial == .text
                    ? "look at its log: that is how a crash looks"
                    : "do not send such messages, or mend the server: its log may say more")
        case .garbled: return finding(.broken, "the server breaks the protocol on \(words): \(reaction.detail ?? "")")
        case .nothing:
            let isMute = seen.pings?.answered == 0
            return finding(
                isMute ? .note : .broken,
                "\(words): no sign of life\(isMute ? ", but this server gives none in any case" : ", not even a pong")",
                isMute ? nil : "the server hangs on it: look at its log")
        }
    }

    private static func closed(_ trial: Trial, _ reaction: Reaction, _ seen: Observations) -> Finding {
        let code = reaction.closeCode ?? 1005
        let reason = reaction.detail.map { ", \"\($0)\"" } ?? ""
        let text = "the server closes with \(code)\(reason) on \(trial.words)"
        // RFC 6455 §7.4.1: 1003, and what the application's own rules say.
        if [1003, 1007, 1008].contains(code) || code >= 3000 || code == 1000 {
            let isPlain = trial == .text || trial == .binary
            return Finding(
                .messages, trial.rawValue, isPlain ? .note : .warning, text,
                advice: "it takes only what it knows; what is said here of messages then says little")
        }
        return Finding(
            .messages, trial.rawValue, code == 1002 ? .broken : .warning, text,
            advice: code == 1011
                ? "it failed inside: look at its log" : "RFC 6455 allows such messages: mend the server, or do not send them")
    }

    /// RFC 6455 §8.1.
    private static func invalidText(_ seen: Observations) -> Finding? {
        guard let reaction = seen[.invalidUTF8] else { return nil }
        func finding(_ severity: Finding.Severity, _ text: String, _ advice: String? = nil) -> Finding {
            Finding(.messages, Trial.invalidUTF8.rawValue, severity, text, advice: advice)
        }
        switch reaction.kind {
        case .closed where reaction.closeCode == 1007: return finding(.good, "text that is not UTF-8 is refused with 1007")
        case .closed: return finding(.good, "text that is not UTF-8 is refused, with \(reaction.closeCode ?? 1005)")
        case .hungUp: return finding(.note, "text that is not UTF-8 ends the connection, without a close frame")
        default:
            return finding(
                .warning, "text that is not UTF-8 is not refused (RFC 6455 §8.1)",
                "whoever gets it from this server may close: let the server check text, or check it before you send it on")
        }
    }

    /// RFC 6455 §5.1.
    private static func unmasked(_ seen: Observations) -> Finding? {
        guard let reaction = seen[.unmasked] else { return nil }
        switch reaction.kind {
        case .closed, .hungUp: return Finding(.messages, Trial.unmasked.rawValue, .good, "frames without a mask are refused")
        default:
            return Finding(
                .messages, Trial.unmasked.rawValue, .warning, "frames without a mask are taken (RFC 6455 §5.1)",
                advice: "the mask protects caches on the way from clients: let the server insist on it")
        }
    }
}
