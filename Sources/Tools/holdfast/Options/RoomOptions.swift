import ArgumentParser
import Foundation
import Holdfast
import HoldfastRooms
import HoldfastTerminal

/// The options for rooms: the room, the user and the local store.
struct RoomOptions: ParsableArguments {
    static let tokenVariable = "HOLDFAST_TOKEN"

    @Argument(help: ArgumentHelp("ws://host:port/ or wss://… of a hub", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Option(help: ArgumentHelp("The room, 1 to 128 bytes.", valueName: "name"))
    var room: String

    @Option(
        help: ArgumentHelp(
            "Your name at a hub that accepts development tokens ('holdfast serve hub --dev').", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Your token, a JWT. Other users can see a command line: set $\(Self.tokenVariable) instead.", valueName: "token"))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "Keep the outbox and the history in this directory, so that unsent messages survive the end of the program. One for each user.",
            valueName: "directory"))
    var store: String?

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        try connection.validate(for: url)
        if !connection.subprotocol.isEmpty { throw ValidationError("--subprotocol: a hub has its own subprotocols.") }
        if RoomName(room) == nil { throw ValidationError("--room: use 1 to 128 bytes without control characters.") }
        if let name, UserName(name) == nil { throw ValidationError("--name: use 1 to 128 bytes without control characters.") }
        if name != nil, token != nil { throw ValidationError("--name and --token exclude each other: a token contains a name.") }
    }

    /// Returns the rooms for the options; the token comes from `environment` unless it is given.
    func rooms(environment: [String: String]) async throws -> Rooms {
        var connecting = try connection.configuration(for: url, environment: environment)
        connection.warnIfInsecure()
        let secret = try secret(environment)
        let configure: (inout WebSocketOptions) -> Void = { options in
            let subprotocols = options.connection.subprotocols
            options.connection = connecting
            options.connection.subprotocols = subprotocols
        }
        connecting.limits.message = max(connecting.limits.message, 4 * 1024 * 1024)
        guard let store else {
            return Rooms(url.string, store: MemoryRoomStore(), token: { secret }, configure: configure)
        }
        do {
            return Rooms(url.string, store: try SQLiteRoomStore(path: store), token: { secret }, configure: configure)
        } catch {
            throw ValidationError("--store: \(error)")
        }
    }

    private func secret(_ environment: [String: String]) throws -> String {
        if let name { return "dev:\(name)" }
        guard let token = token ?? environment[Self.tokenVariable], !token.isEmpty else {
            throw ValidationError("say who you are: --name with a development hub, or a token in $\(Self.tokenVariable).")
        }
        return token
    }
}

/// The login options: HTTP authentication and cookies.
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
            "Send the cookies in this file, and save new ones there; the file is created if it does not exist.", valueName: "file"))
    var cookies: String?

    func validate() throws {
        guard let passwordFile else { return }
        guard let basic else { throw ValidationError("--password-file needs --basic.") }
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
                throw ValidationError("--password-file: \(passwordFile.escapedOnOneLine) is not UTF-8 text.")
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
