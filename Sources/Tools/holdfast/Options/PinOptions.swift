import ArgumentParser
import Holdfast
import WebSocketRuntime

/// Which keys the server's chain is expected to have.
struct PinOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Connect only if the chain of the URL's host has this pin, sha256/… or cert-sha256/…, as 'holdfast pin' prints it; "
                + "repeatable, one of them is enough.",
            valueName: "pin"),
        transform: Self.pin)
    var pin: [Pin] = []

    @Flag(help: "Warn if the chain has none of the pins, and connect all the same.")
    var pinReportOnly = false

    func validate() throws {
        if pinReportOnly, pin.isEmpty { throw ValidationError("--pin-report-only says what a missing --pin means; give one.") }
    }

    func apply(to tls: inout TLSOptions, for url: WebSocketURL) {
        guard !pin.isEmpty else { return }
        tls.pins = [PinSet(url.host, pins: pin, mode: pinReportOnly ? .reportOnly : .enforce)]
        let warned = LockedValue(false)
        tls.onPinReport = { report in
            // A refusal is told by the error; the many connections of a benchmark would all warn of the same.
            guard !report.isRefused else { return }
            warned.withLockedValue { isDone in
                if !isDone { StandardOutput.warn(report.warning) }
                isDone = true
            }
        }
    }

    /// What is wrong with the pin becomes the parser's message.
    private static func pin(_ text: String) throws -> Pin {
        do throws(Pin.Malformed) { return try Pin(text) } catch { throw ValidationError(error.description) }
    }
}

extension PinReport {
    /// For people, on one line.
    var warning: String {
        let seen = chain.map { "\($0.publicKeyPin) (\($0))" }.joined(separator: ", ").escapedOnOneLine
        return "WARNING: the chain of \(host.escapedOnOneLine) has none of the pins, but "
            + (seen.isEmpty ? "nothing that could be read" : seen)
    }
}
