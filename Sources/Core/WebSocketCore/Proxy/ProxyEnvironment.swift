/// The proxies from the environment variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
///
/// No standard defines these variables. These are the rules on which curl, Go and Python agree; where they differ, the stricter one
/// applies.
///
/// - `wss` uses `https_proxy`, `ws` uses `http_proxy`; without it, both use `all_proxy`. An empty variable counts as unset.
/// - Each may be written in lower or upper case; lower case takes precedence. `HTTP_PROXY` in upper case is ignored if `REQUEST_METHOD` is
///   set: in a CGI program, anyone who sends a `Proxy` field controls it.
/// - `no_proxy` is a list of servers that are reached directly, separated by commas or spaces. `*` means all servers. `example.com` means
///   this name and all names that end in `.example.com`; `.example.com` means only the latter. An entry can also be an address or a
///   network, such as `10.0.0.0/8` or `fd00::/8`. All entries except `*` and networks can have a `:port` and then apply to that port only.
/// - A Unix domain socket is always reached directly. Names are never resolved for the comparison.
public struct ProxyEnvironment: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    private let http: Variable?
    private let https: Variable?
    private let all: Variable?
    private let exceptions: [ProxyException]

    private struct Variable: Hashable {
        let name: String, value: String
    }

    /// Reads the variables for proxies from an environment.
    public init(_ environment: [String: String]) {
        func variable(_ name: String, hasUpperCase: Bool = true) -> Variable? {
            for name in hasUpperCase ? [name, name.uppercased()] : [name] {
                if let value = environment[name] { return value.isEmpty ? nil : Variable(name: name, value: value) }
            }
            return nil
        }
        http = variable("http_proxy", hasUpperCase: environment["REQUEST_METHOD"] == nil)
        (https, all) = (variable("https_proxy"), variable("all_proxy"))
        exceptions = (variable("no_proxy")?.value ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }.map(ProxyException.init)
    }

    /// Returns the proxy for a URL; nil if there is none.
    ///
    /// - Throws: What is wrong with the variable that applies, beginning with its name, without the password.
    public func proxy(for url: WebSocketURL) throws(URLProblem) -> Proxy? {
        guard url.socketPath == nil, let variable = (url.isSecure ? https : http) ?? all, !isException(url) else { return nil }
        do throws(URLProblem) {
            return try Proxy(variable.value)
        } catch {
            throw URLProblem(error.code, "\(variable.name): \(error.description)")
        }
    }

    /// The names of the variables, without their values, which may contain a password.
    public var description: String {
        let names = [http, https, all].compactMap { $0?.name }
        return names.isEmpty ? "no proxy of the environment" : "the proxies of \(names.joined(separator: ", "))"
    }

    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["variables": description]) }

    private func isException(_ url: WebSocketURL) -> Bool {
        let address = IPAddress(url.host)
        return exceptions.contains { $0.covers(url.host, address, port: url.port) }
    }
}

/// One entry of `NO_PROXY`.
enum ProxyException: Hashable, Sendable {
    case everything
    case name(String, port: Int?, isSuffixOnly: Bool)
    case address(IPAddress, port: Int?)
    case network(IPAddress, length: Int)

    init(_ entry: Substring) {
        if entry == "*" {
            self = .everything
            return
        }
        if let slash = entry.firstIndex(of: "/"), let address = IPAddress(entry[..<slash].trimmingBrackets),
            let length = Int(entry[entry.index(after: slash)...]), 0...(address.bytes.count * 8) ~= length
        {
            self = .network(address, length: length)
            return
        }
        if let address = IPAddress(entry.trimmingBrackets) {
            self = .address(address, port: nil)
            return
        }
        var (host, port) = (entry, Int?.none)
        if let colon = entry.lastIndex(of: ":"), let number = Int(entry[entry.index(after: colon)...]) {
            (host, port) = (entry[..<colon], number)
        }
        if let address = IPAddress(host.trimmingBrackets) {
            self = .address(address, port: port)
            return
        }
        if host.hasPrefix("*.") { host = host.dropFirst() }
        self = .name(HeaderSyntax.lowercased(host.drop { $0 == "." }), port: port, isSuffixOnly: host.hasPrefix("."))
    }

    func covers(_ host: String, _ address: IPAddress?, port: Int) -> Bool {
        switch self {
        case .everything: return true
        case .address(let other, let only): return other == address && (only ?? port) == port
        case .network(let network, let length): return address.map { network.shares(length, with: $0) } ?? false
        case .name(let name, let only, let isSuffixOnly):
            guard !name.isEmpty, (only ?? port) == port, address == nil else { return false }
            let host = host.hasSuffix(".") ? host.dropLast() : host[...]
            return host.hasSuffix(".\(name)") || !isSuffixOnly && host == name
        }
    }
}

extension Substring {
    fileprivate var trimmingBrackets: Substring { hasPrefix("[") && hasSuffix("]") ? dropFirst().dropLast() : self }
}

/// An IP address as bytes: 4 for IPv4, or 16 for IPv6 (RFC 4291 §2.2); without a zone.
struct IPAddress: Hashable, Sendable {
    let bytes: [UInt8]

    /// Parses an address in text form, without brackets; fails for anything else, such as a name.
    init?(_ text: some StringProtocol) {
        guard let bytes = text.utf8.contains(UInt8(ascii: ":")) ? Self.version6(text) : Self.version4(text) else { return nil }
        self.bytes = bytes
    }

    /// Returns whether the first `length` bits are those of `other`.
    func shares(_ length: Int, with other: IPAddress) -> Bool {
        guard bytes.count == other.bytes.count, 0...(bytes.count * 8) ~= length else { return false }
        let (whole, rest) = (length / 8, length % 8)
        guard bytes[..<whole] == other.bytes[..<whole] else { return false }
        return rest == 0 || bytes[whole] >> (8 - rest) == other.bytes[whole] >> (8 - rest)
    }

    private static func version4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // Some systems read a leading zero as octal, others as decimal: it is rejected here.
        let bytes = parts.compactMap { $0.utf8.count > 1 && $0.hasPrefix("0") || !HeaderSyntax.isDecimal($0) ? nil : UInt8($0) }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ text: some StringProtocol) -> [UInt8]? {
        guard let gap = text.firstRange(of: "::") else {
            let bytes = groups(text, mayEndInVersion4: true)
            return bytes?.count == 16 ? bytes : nil
        }
        guard let head = groups(text[..<gap.lowerBound], mayEndInVersion4: false),
            let tail = groups(text[gap.upperBound...], mayEndInVersion4: true), head.count + tail.count <= 14
        else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    private static func groups(_ text: some StringProtocol, mayEndInVersion4: Bool) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if mayEndInVersion4, index == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
                guard let end = version4(part) else { return nil }
                bytes += end
            } else {
                guard 1...4 ~= part.utf8.count, part.allSatisfy(\.isHexDigit), let group = UInt16(part, radix: 16) else { return nil }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
        }
        return bytes
    }
}
