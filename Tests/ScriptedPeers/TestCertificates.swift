import Foundation

/// An authority and the certificates that it issued, made for each test run.
package struct TestCertificates: Sendable {
    /// A certificate with its key, in PEM files.
    package struct Identity: Sendable {
        package let certificate: String
        package let key: String
    }
    /// A defect of a certificate.
    package enum Flaw: CaseIterable, Sendable {
        case wrongHost, expired
    }
    /// A command ended with another status than 0.
    package struct CommandFailed: Error {
        let arguments: [String]
        let output: String
    }

    private let folder: URL
    /// The certificate of the authority.
    package let authority: String
    /// The certificate of an authority that issued none of these.
    package let strangeAuthority: String
    private let valid, wrongHost, expired: Identity

    /// The certificates of this test run.
    package static func shared() throws -> TestCertificates { try made.get() }
    private static let made = Result { try TestCertificates() }

    /// A certificate for `localhost` and 127.0.0.1 that is valid or has one defect.
    package func identity(_ flaw: Flaw?) -> Identity {
        switch flaw {
        case nil: valid
        case .wrongHost: wrongHost
        case .expired: expired
        }
    }

    private init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "holdfast-certificates-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let maker = Maker(folder: folder)
        authority = try maker.authority("authority")
        strangeAuthority = try maker.authority("strange")
        let names = "DNS:localhost,IP:127.0.0.1"
        valid = try maker.identity("valid", names: names, days: 2)
        wrongHost = try maker.identity("wrong-host", names: "DNS:other.example,IP:192.0.2.1", days: 2)
        expired = try maker.identity("expired", names: names, days: -1)
        atexit { try? TestCertificates.shared().remove() }
    }

    private func remove() throws { try FileManager.default.removeItem(at: folder) }

    private struct Maker {
        let folder: URL

        func authority(_ name: String) throws -> String {
            try openssl(
                ["req", "-x509", "-days", "2", "-subj", "/CN=Holdfast test \(name)", "-out", path("\(name).pem")] + newKey(name))
            return path("\(name).pem")
        }

        func identity(_ name: String, names: String, days: Int) throws -> Identity {
            try openssl(["req", "-subj", "/CN=Holdfast test", "-out", path("\(name).csr")] + newKey(name))
            try Data("subjectAltName=\(names)\n".utf8).write(to: URL(filePath: path("\(name).ext")))
            try openssl([
                "x509", "-req", "-in", path("\(name).csr"), "-CA", path("authority.pem"), "-CAkey", path("authority.key"),
                "-set_serial", "\(UInt32.random(in: 1 ... .max))", "-days", "\(days)", "-extfile", path("\(name).ext"),
                "-out", path("\(name).pem"),
            ])
            return Identity(certificate: path("\(name).pem"), key: path("\(name).key"))
        }

        private func path(_ name: String) -> String { folder.appending(path: name).path }

        private func newKey(_ name: String) -> [String] {
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path("\(name).key")]
        }

        private func openssl(_ arguments: [String]) throws {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["openssl"] + arguments
            (process.standardOutput, process.standardError) = (output, output)
            try process.run()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw CommandFailed(arguments: arguments, output: String(decoding: text, as: UTF8.self))
            }
        }
    }
}
