import ArgumentParser
import Foundation
import Holdfast

/// Who we are to the server, and what it remembers of us.
struct LoginOptions: ParsableArguments {
    static let passwordVariable = "HOLDFAST_PASSWORD"

    @Option(
        help: ArgumentHelp(
            "Send 'Authorization: Basic …'. Other users can see a command line: give the name alone, and the password in --password-file or "
                + "$\(Self.passwordVariable).",
            valueName: "name[:password]"))
    var basic: String?

    @Option(help: ArgumentHelp("The file whose first line is the password for --basic.", valueName: "file"))
    var passwordFile: String?

    @Option(
        help: ArgumentHelp(
            "Keep cookies in this file, and send those that are in it; it is made if it is not there.", valueName: "file"))
    var cookies: String?

    func validate() throws {
        guard let passwordFile else { return }
        guard let basic else { throw ValidationError("--password-file goes with --basic.") }
        if basic.contains(":") { throw ValidationError("--password-file: --basic has a password already.") }
        if access(passwordFile, R_OK) != 0 {
            throw ValidationError("--password-file: cannot read \(passwordFile.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    func apply(to configuration: inout WebSocketConfiguration, environment: [String: String]) throws {
        if let cookies { configuration.cookies = try CookieFile(path: cookies).store() }
        guard let basic else { return }
        let login = basic.contains(":") ? basic : "\(basic):\(try password(environment))"
        var (url, headers, subprotocols) = ("", configuration.headers, [String]())
        do throws(HandshakeFailure) {
            try CredentialPlacement.basic.place(login, url: &url, headers: &headers, subprotocols: &subprotocols)
        } catch {
            throw ValidationError("--basic: \(error.detail).")
        }
        configuration.headers = headers
    }

    private func password(_ environment: [String: String]) throws -> String {
        if let passwordFile {
            guard let bytes = FileManager.default.contents(atPath: passwordFile), let text = String(bytes: bytes, encoding: .utf8) else {
                throw ValidationError("--password-file: \(passwordFile.escapedOnOneLine) is no text in UTF-8.")
            }
            return String(text.prefix { !$0.isNewline })
        }
        guard let password = environment[Self.passwordVariable] else {
            throw ValidationError(
                "--basic: there is no password; give it as name:password, in --password-file or $\(Self.passwordVariable).")
        }
        return password
    }
}
