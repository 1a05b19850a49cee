import Foundation

/// A certificate for this machine that vouches for itself, in a directory of its own that only this user can read.
struct SelfSignedCertificate: Sendable {
    /// Why there is none.
    struct Failure: Error, CustomStringConvertible { let description: String }

    private let directory: URL

    var certificateFile: String { directory.appendingPathComponent("certificate.pem").path }
    var keyFile: String { directory.appendingPathComponent("key.pem").path }

    /// Has the `openssl` program make one: for localhost, 127.0.0.1 and ::1, good for 30 days.
    static func make() throws -> SelfSignedCertificate {
        var template = Array(FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-XXXXXX").path.utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(description: "cannot make a directory for the certificate") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let certificate = SelfSignedCertificate(directory: URL(fileURLWithPath: path, isDirectory: true))
        do {
            try certificate.runOpenSSL()
            return certificate
        } catch {
            certificate.remove()
            throw error
        }
    }

    /// Deletes the files.
    func remove() { try? FileManager.default.removeItem(at: directory) }

    private func runOpenSSL() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1",
            "-keyout", keyFile, "-out", certificateFile,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(
                description: "the openssl program made no certificate (status \(process.terminationStatus)); "
                    + "install it, or give --tls-cert and --tls-key")
        }
    }
}
