public import ArgumentParser
import Foundation
import Holdfast
public import HoldfastQuotes
import HoldfastTerminal
import HoldfastTesting

/// The URL to connect to.
enum URLArgument {
    /// Parses a URL; the error becomes the parser's message.
    static func parse(_ text: String) throws -> WebSocketURL {
        do throws(URLProblem) { return try WebSocketURL(text) } catch { throw ValidationError(error.description) }
    }
}

/// The target of a relay: `host:port` or `[::1]:port`.
struct HostAndPort: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    let host: String
    let port: Int

    /// Parses a host and a port from 1 to 65535; returns nil for anything else.
    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":") else { return nil }
        let digits = argument[argument.index(after: colon)...]
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = Int(digits), 1...65_535 ~= port else {
            return nil
        }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil  // Without brackets, the end of an IPv6 address is ambiguous.
        }
        guard !host.isEmpty, host.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0.value != 0x7F }) else { return nil }
        (self.host, self.port) = (String(host), port)
    }

    /// The text form as on the command line.
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A header field on the command line: `Name: value`.
struct HeaderArgument: Hashable, Sendable, ExpressibleByArgument {
    let field: HeaderField

    /// Parses a field; returns nil if the name is not a token (RFC 9110 §5.6.2) or the value has control characters.
    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        let name = argument[..<colon]
        let value = argument[argument.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        guard !name.isEmpty, name.unicodeScalars.allSatisfy(Self.isTokenPart) else { return nil }
        guard !value.unicodeScalars.contains(where: { $0.value == 0x7F || ($0.value < 0x20 && $0 != "\t") }) else { return nil }
        field = HeaderField(name: String(name), value: String(value))
    }

    static func isTokenPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "0"..."9", "A"..."Z", "a"..."z": true
        default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
        }
    }
}

/// A number of bytes: `65536`, `64K`, `16M`, `1G` (powers of 1024).
struct ByteCount: Hashable, Sendable, ExpressibleByArgument {
    let bytes: Int

    /// Parses a count of at least one byte; returns nil for anything else, including overflow.
    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let shift: Int
        switch argument[digits.endIndex...].uppercased() {
        case "": shift = 0
        case "K": shift = 10
        case "M": shift = 20
        case "G": shift = 30
        default: return nil
        }
        guard let count = Int(digits), count > 0 else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: 1 << shift)
        guard !overflow else { return nil }
        self.bytes = bytes
    }
}

/// A number of bytes to leave free: a ``ByteCount``, or 0 for none.
struct SpareBytes: Hashable, Sendable, ExpressibleByArgument {
    let bytes: Int

    init?(argument: String) {
        guard let bytes = argument == "0" ? 0 : ByteCount(argument: argument)?.bytes else { return nil }
        self.bytes = bytes
    }
}

/// A time in seconds, such as `2` or `0.5`, at most a day.
struct Seconds: Hashable, Sendable, ExpressibleByArgument {
    let duration: Duration

    init(_ seconds: Int) { duration = .seconds(seconds) }

    /// Parses a number from 0 to 86400; returns nil for anything else.
    init?(argument: String) {
        guard let value = Double(argument), value.isFinite, 0...86_400 ~= value else { return nil }
        duration = .seconds(value)
    }
}

extension Seconds: CustomStringConvertible {
    /// Creates the default value of an option.
    init(_ duration: Duration) { self.duration = duration }

    /// The value as written on the command line, for the help.
    var description: String { duration.phrase }
}

/// A script of faults on the command line: the text itself, or `@file`.
enum ScriptArgument {
    /// The maximum length; a longer file is probably the wrong one.
    private static let limit = 1 << 20

    /// Parses a script; the error becomes the parser's message.
    static func parse(_ argument: String) throws -> FaultScript {
        let text = argument.hasPrefix("@") ? try read(String(argument.dropFirst())) : argument
        do throws(FaultScriptError) {
            return try FaultScript(text)
        } catch {
            throw ValidationError(error.description.escapedOnOneLine)
        }
    }

    private static func read(_ path: String) throws -> String {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: limit + 1) else {
            throw ValidationError("cannot read \(path.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
        guard data.count <= limit, let text = String(data: data, encoding: .utf8) else {
            throw ValidationError("\(path.escapedOnOneLine) is not UTF-8 text of at most 1 MiB.")
        }
        return text
    }
}

/// On the command line, an encoding has the last part of its subprotocol's name: `json`, `msgpack`, `protobuf`.
extension QuotesEncoding: ExpressibleByArgument {}
