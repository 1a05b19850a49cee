import HoldfastTerminal

extension Diagnosis {
    static func messages(_ seen: Observations) -> [Finding] {
        let usual: [Trial] = [.text, .binary, .fragmented, .pingWithin, .empty]
        return usual.compactMap { trial in seen[trial].map { taken(trial, $0, seen) } }
            + [invalidText(seen), unmasked(seen)].compactMap { $0 }
    }

    /// Returns the finding for a message that every server should accept.
    private static func taken(_ trial: Trial, _ reaction: CloseReaction, _ seen: Observations) -> Finding {
        func finding(_ severity: Finding.Severity, _ text: String, _ advice: String? = nil) -> Finding {
            Finding(.messages, trial.rawValue, severity, text, advice: advice)
        }
        let words = trial.words
        switch reaction.kind {
        case .echoed where reaction.isPongInTime == false:
            return finding(
                .warning, "\(words) is answered only when the message is complete",
                "during a long message, pings get no answer: allow more time for them (WebSocketTimeouts.ping)")
        case .echoed: return finding(.good, "\(words): echoed in \(reaction.ms.msPhrase)")
        case .answered where seen.pings.map({ $0.messages > 0 }) ?? false:
            return finding(.good, "\(words): accepted; the next message may not be an answer, because this server also sends unasked")
        case .answered: return finding(.good, "\(words): answered with \(reaction.detail ?? "something else")")
        case .silent: return finding(.good, "\(words): accepted, and not answered")
        case .closed: return closed(trial, reaction, seen)
        case .hungUp:
            return finding(
                .broken, "the server drops the connection on \(words), without a close frame",
                trial == .text
                    ? "check its log: this may be a crash"
                    : "do not send such messages, or fix the server: its log may help")
        case .garbled: return finding(.broken, "the server violates the protocol on \(words): \(reaction.detail ?? "")")
        case .nothing:
            let isMute = seen.pings?.answered == 0
            return finding(
                isMute ? .note : .broken,
                "\(words): no reaction\(isMute ? ", but this server does not react to anything" : ", not even a pong")",
                isMute ? nil : "the server hangs on it: check its log")
        }
    }

    private static func closed(_ trial: Trial, _ reaction: CloseReaction, _ seen: Observations) -> Finding {
        let code = reaction.closeCode ?? 1005
        let reason = reaction.detail.map { ", \"\($0)\"" } ?? ""
        let text = "the server closes with \(code)\(reason) on \(trial.words)"
        // RFC 6455 §7.4.1: 1003, and codes for an application's own rules.
        if [1003, 1007, 1008].contains(code) || code >= 3000 || code == 1000 {
            let isPlain = trial == .text || trial == .binary
            return Finding(
                .messages, trial.rawValue, isPlain ? .note : .warning, text,
                advice: "it accepts only messages that it knows, so the findings about messages mean little")
        }
        return Finding(
            .messages, trial.rawValue, code == 1002 ? .broken : .warning, text,
            advice: code == 1011
                ? "it had an internal error: check its log" : "RFC 6455 allows such messages: fix the server, or do not send them")
    }

    /// Returns the finding for text that is not UTF-8, see RFC 6455 §8.1.
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
                "clients that get such text from this server may close: let the server validate text, or validate it yourself")
        }
    }

    /// Returns the finding for a frame without a mask, see RFC 6455 §5.1.
    private static func unmasked(_ seen: Observations) -> Finding? {
        guard let reaction = seen[.unmasked] else { return nil }
        switch reaction.kind {
        case .closed, .hungUp: return Finding(.messages, Trial.unmasked.rawValue, .good, "frames without a mask are refused")
        default:
            return Finding(
                .messages, Trial.unmasked.rawValue, .warning, "frames without a mask are accepted (RFC 6455 §5.1)",
                advice: "masks protect caches on the way from malicious clients: let the server require them")
        }
    }

    static func compression(_ seen: Observations) -> [Finding] {
        guard let view = seen.compression else { return [] }
        guard view.isAgreed else {
            return [
                Finding(
                    .compression, "declined", .note, "the server does not compress (permessage-deflate was offered)",
                    advice: "if messages are long texts, enable compression, or send less")
            ]
        }
        let parameters = [
            "windows: \(window(view.serverMaxWindowBits)) for the server, \(window(view.clientMaxWindowBits)) for us",
            "the server \(takeover(view.serverNoContextTakeover)), we \(takeover(view.clientNoContextTakeover, isPlural: true)) the context",
        ]
        let sample = view.sampleBytes.flatMap { before in
            view.sentBytes.map { "; JSON of \(before.bytesPhrase) became \($0.bytesPhrase), \(ratio(before, $0)) times smaller" }
        }
        if let reaction = view.reaction, !reaction.isSurvived, reaction.kind != .nothing {
            return [
                Finding(
                    .compression, "broken", .broken, "the server agreed to compress, but ends the connection on a compressed message",
                    details: parameters + [reaction.closeCode.map { "it closed with \($0)" } ?? "without a close frame"],
                    advice: "switch compression off: WebSocketConfiguration.compression = nil, or on the server")
            ]
        }
        var details = parameters
        if let bytes = view.echoBytes, view.reaction?.kind == .echoed {
            let isCompressed = view.isEchoCompressed == true
            details.append(isCompressed ? "the echo came compressed to \(bytes.bytesPhrase)" : "the echo came uncompressed")
        }
        return [Finding(.compression, "agreed", .good, "permessage-deflate\(sample ?? "")", details: details)]
    }

    private static func window(_ bits: Int?) -> String { bits.map { (1 << $0).bytesPhrase } ?? "unknown" }

    private static func takeover(_ isNone: Bool?, isPlural: Bool = false) -> String {
        isNone == true ? (isPlural ? "forget" : "forgets") : (isPlural ? "keep" : "keeps")
    }

    private static func ratio(_ before: Int, _ after: Int) -> String {
        guard after > 0 else { return "many" }
        let tenths = before * 10 / after
        return "\(tenths / 10).\(tenths % 10)"
    }

    static func limit(_ seen: Observations) -> [Finding] {
        guard let view = seen.limit else { return [] }
        let sign = view.proof == "echo" ? "its echo" : "the pong of a ping after it"
        let proof = ["\(view.sentAs) messages; the proof that one was accepted is \(sign)"]
        guard let refused = view.smallestRefused else {
            guard let taken = view.largestTaken else { return [] }
            if taken == view.cap {
                return [
                    Finding(.limit, "none", .good, "messages of \(size(taken)) are accepted; larger ones were not tried", details: proof)
                ]
            }
            let text = "messages of \(size(taken)) are accepted; there was no time to try larger ones"
            return [Finding(.limit, "slow", .note, text, details: proof)]
        }
        guard let taken = view.largestTaken else {
            return [
                Finding(
                    .limit, "tiny", .warning, "not even messages of \(size(refused)) are accepted", details: proof,
                    advice: "send small messages, or raise the server's limit")
            ]
        }
        let place =
            view.isExact
            ? "messages of \(size(taken)) are accepted, and not one byte more"
            : "the largest message has \(size(taken)) to \(size(refused - 1))"
        let advice = "keep below it, or raise the server's limit"
        switch view.refusal?.kind {
        case .closed where view.refusal?.closeCode == 1009:
            return [Finding(.limit, "found", .good, "\(place); larger ones are refused with 1009", details: proof)]
        case .closed:
            let code = view.refusal?.closeCode ?? 1005
            let text = "\(place); larger ones are refused with \(code); 1009 would give the reason"
            return [Finding(.limit, "found", .note, text, details: proof)]
        case .hungUp:
            return [
                Finding(
                    .limit, "hangsUp", .warning, "\(place); larger ones end the connection without a close frame", details: proof,
                    advice: advice)
            ]
        default:
            return [Finding(.limit, "silent", .warning, "\(place); larger ones get no reaction", details: proof, advice: advice)]
        }
    }

    /// Returns the size in units, with the exact number of bytes if that says more.
    private static func size(_ bytes: Int) -> String {
        bytes < 1000 ? bytes.bytesPhrase : "\(bytes.bytesPhrase) (\(bytes.grouped) bytes)"
    }

    static func idle(_ seen: Observations) -> [Finding] {
        guard let view = seen.idle else { return [] }
        var own: [String] = []
        if view.serverPings > 0 { own.append("the server sent \(view.serverPings.counted("ping")) of its own") }
        if view.serverMessages > 0 { own.append("the server sent \(view.serverMessages.counted("message")) of its own") }
        guard let end = view.ended else {
            return [Finding(.idle, "lives", .good, "a silent connection lives for at least \(view.watchedMs.msPhrase)", details: own)]
        }
        let how = end.kind == .closed ? "is closed with \(end.closeCode ?? 1005)" : "is dropped without a close frame"
        let text = "a silent connection \(how) after \(end.ms.msPhrase)"
        guard let isKept = view.isKeptByPings, let pause = view.pingEveryMs else {
            let advice = "ping more often than that: WebSocketTimeouts.pingInterval"
            return [Finding(.idle, "ends", .warning, text, details: own, advice: advice)]
        }
        own.append("with a ping every \(pause.msPhrase), another connection \(isKept ? "lived on" : "ended as well")")
        return [
            isKept
                ? Finding(
                    .idle, "ends", .warning, text, details: own,
                    advice: "set WebSocketTimeouts.pingInterval to \((end.ms / 2).msPhrase) or less: pings keep it alive")
                : Finding(
                    .idle, "endsAnyway", .warning, text, details: own,
                    advice: "pings do not help: send messages of your own in time, or be ready to reconnect")
        ]
    }

    static func pings(_ seen: Observations) -> [Finding] {
        guard let pings = seen.pings, pings.sent > 0 else { return [] }
        guard let least = pings.minMs, let median = pings.medianMs, let most = pings.p95Ms else {
            return [
                Finding(
                    .pings, "never", .broken, "the server never answers pings (RFC 6455 §5.5.3)",
                    advice: "use an application-level ping: WebSocketConfiguration.pingMessage; without one a living connection looks dead")
            ]
        }
        let times = "round trip \(median.msPhrase) (median), \(least.msPhrase) at best, \(most.msPhrase) (p95)"
        if pings.answered < pings.sent {
            return [
                Finding(
                    .pings, "some", .warning, "\(pings.answered) of \(pings.sent) pings were answered in time; \(times)",
                    advice: "allow more time for a pong (WebSocketTimeouts.ping), or find out what keeps the server busy")
            ]
        }
        return [Finding(.pings, "answered", .good, "\(pings.answered.counted("ping")) answered; \(times)")]
    }

    static func close(_ seen: Observations) -> [Finding] {
        guard let view = seen.close else { return [] }
        guard view.isAnswered else {
            return [
                view.endsTCP
                    ? Finding(
                        .close, "unanswered", .warning, "the server ends TCP instead of answering a close frame (RFC 6455 §5.5.1)",
                        advice: "clients treat this as a lost connection; let the server send a close frame first")
                    : Finding(
                        .close, "never", .broken, "the server does not answer a close frame (RFC 6455 §5.5.1)",
                        advice: "every close waits for its timeout: keep WebSocketTimeouts.close short")
            ]
        }
        let time = view.answerMs.map { " in \($0.msPhrase)" } ?? ""
        var findings = [
            view.code == 1000
                ? Finding(.close, "answered", .good, "a close frame is answered with 1000\(time)")
                : Finding(.close, "otherCode", .note, "a close frame with 1000 is answered with \(view.code ?? 1005)\(time)")
        ]
        if view.endsTCP {
            findings.append(Finding(.close, "endsTCP", .good, "and TCP is ended\(view.endMs.map { " after \($0.msPhrase)" } ?? "")"))
        } else {
            findings.append(
                Finding(
                    .close, "keepsTCP", .warning, "but TCP is not ended after it, as the server should (RFC 6455 §7.1.1)",
                    advice: "sockets accumulate if clients also wait for it; let the server end TCP after the close frames"))
        }
        return findings
    }
}
