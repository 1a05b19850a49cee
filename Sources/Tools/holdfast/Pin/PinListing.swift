import Foundation
import Holdfast

/// A chain's pins, to paste into an app or to read by a program.
struct PinListing {
    let host: String
    let chain: [ServerCertificate]

    /// Swift, with a comment for each pin.
    var swift: String {
        let lines = chain.enumerated().map { place, certificate in
            "    try Pin(\"\(certificate.publicKeyPin)\"),  // \(role(place)): \(name(certificate)), until \(lastDay(certificate))"
        }
        return (["PinSet(\"\(host)\", pins: ["] + lines + ["])"]).joined(separator: "\n") + "\n"
    }

    /// One object; keys in the order of the alphabet.
    ///
    /// Nothing in it can drive a terminal: names are the server's own words.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let rows = chain.map {
            Row(
                subject: $0.subject, issuer: $0.issuer, notAfter: "\(lastDay($0))", publicKeyPin: "\($0.publicKeyPin)",
                certificatePin: "\($0.certificatePin)")
        }
        return String(decoding: try encoder.encode(Report(host: host, chain: rows)), as: UTF8.self).escapedWithinJSONLines + "\n"
    }

    private func role(_ place: Int) -> String {
        if place == 0 { return "the server" }
        return place == chain.count - 1 && chain[place].isSelfIssued ? "the root" : "an authority between"
    }

    private func name(_ certificate: ServerCertificate) -> String {
        certificate.subject.isEmpty ? "unnamed" : certificate.subject.escapedOnOneLine
    }

    private func lastDay(_ certificate: ServerCertificate) -> CalendarDate { CalendarDate(secondsSince1970: certificate.notAfter) }

    private struct Report: Encodable {
        let host: String
        let chain: [Row]
    }

    private struct Row: Encodable {
        let subject, issuer, notAfter, publicKeyPin, certificatePin: String
    }
}
