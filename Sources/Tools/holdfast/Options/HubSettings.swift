import ArgumentParser
import Foundation
import Holdfast
import HoldfastTerminal

extension ByteCount: Decodable {
    /// Decodes a number, or a text with a unit.
    init(from decoder: any Decoder) throws { self = try decoder.bytes { ByteCount(argument: $0) } }
}

extension SpareBytes: Decodable {
    /// Decodes a number, or a text with a unit.
    init(from decoder: any Decoder) throws { self = try decoder.bytes { SpareBytes(argument: $0) } }
}

extension Decoder {
    fileprivate func bytes<Count>(_ read: (String) -> Count?) throws -> Count {
        let value = try singleValueContainer()
        let text = try (try? value.decode(Int.self)).map(String.init) ?? value.decode(String.self)
        guard let count = read(text) else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "\(text) is not a number of bytes")
        }
        return count
    }
}

/// The options of a hub in a configuration file.
struct HubSettings: Decodable {
    var host: String?
    var port: Int?
    var unix: String?
    var metrics: Int?
    var tlsCert: String?
    var tlsKey: String?
    var tlsMin: TLSOptions.Version?
    var data: String?
    var dev: Bool?
    var secretFile: String?
    var publicKey: String?
    var jwks: String?
    var issuer: String?
    var audience: String?
    var origin: [String]?
    var apiKeyFile: String?
    var backupTo: String?
    var keepCount: Int64?
    var keepDays: Int64?
    var keepBytes: ByteCount?
    var quotaUser: ByteCount?
    var quotaRoom: ByteCount?
    var quotaTotal: ByteCount?
    var keepFree: SpareBytes?
    var limit: [String: Int64]?
    var behindProxy: Bool?
    var maxConnections: Int?
    var node: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case host, port, unix, metrics, data, dev, jwks, issuer, audience, origin, node, limit
        case tlsCert = "tls-cert"
        case tlsKey = "tls-key"
        case tlsMin = "tls-min"
        case secretFile = "secret-file"
        case publicKey = "public-key"
        case apiKeyFile = "api-key-file"
        case backupTo = "backup-to"
        case keepCount = "keep-count"
        case keepDays = "keep-days"
        case keepBytes = "keep-bytes"
        case quotaUser = "quota-user"
        case quotaRoom = "quota-room"
        case quotaTotal = "quota-total"
        case keepFree = "keep-free"
        case behindProxy = "behind-proxy"
        case maxConnections = "max-connections"
    }
    private struct AnyKey: CodingKey {
        let stringValue: String
        let intValue: Int? = nil
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init() {}

    init(from decoder: any Decoder) throws {
        // A misspelt name would silently have no effect.
        let names = Set(CodingKeys.allCases.map(\.rawValue))
        if let unknown = try decoder.container(keyedBy: AnyKey.self).allKeys.first(where: { !names.contains($0.stringValue) }) {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "there is no option \(unknown.stringValue)"))
        }
        let values = try decoder.container(keyedBy: CodingKeys.self)
        host = try values.decodeIfPresent(String.self, forKey: .host)
        port = try values.decodeIfPresent(Int.self, forKey: .port)
        unix = try values.decodeIfPresent(String.self, forKey: .unix)
        metrics = try values.decodeIfPresent(Int.self, forKey: .metrics)
        tlsCert = try values.decodeIfPresent(String.self, forKey: .tlsCert)
        tlsKey = try values.decodeIfPresent(String.self, forKey: .tlsKey)
        tlsMin = try values.decodeIfPresent(String.self, forKey: .tlsMin).map { text in
            guard let version = try? HandshakeOptions.version(text) else {
                throw DecodingError.dataCorruptedError(forKey: .tlsMin, in: values, debugDescription: "use 1.2 or 1.3")
            }
            return version
        }
        data = try values.decodeIfPresent(String.self, forKey: .data)
        dev = try values.decodeIfPresent(Bool.self, forKey: .dev)
        secretFile = try values.decodeIfPresent(String.self, forKey: .secretFile)
        publicKey = try values.decodeIfPresent(String.self, forKey: .publicKey)
        jwks = try values.decodeIfPresent(String.self, forKey: .jwks)
        issuer = try values.decodeIfPresent(String.self, forKey: .issuer)
        audience = try values.decodeIfPresent(String.self, forKey: .audience)
        origin = try values.decodeIfPresent([String].self, forKey: .origin)
        apiKeyFile = try values.decodeIfPresent(String.self, forKey: .apiKeyFile)
        backupTo = try values.decodeIfPresent(String.self, forKey: .backupTo)
        keepCount = try values.decodeIfPresent(Int64.self, forKey: .keepCount)
        keepDays = try values.decodeIfPresent(Int64.self, forKey: .keepDays)
        keepBytes = try values.decodeIfPresent(ByteCount.self, forKey: .keepBytes)
        quotaUser = try values.decodeIfPresent(ByteCount.self, forKey: .quotaUser)
        quotaRoom = try values.decodeIfPresent(ByteCount.self, forKey: .quotaRoom)
        quotaTotal = try values.decodeIfPresent(ByteCount.self, forKey: .quotaTotal)
        keepFree = try values.decodeIfPresent(SpareBytes.self, forKey: .keepFree)
        limit = try values.decodeIfPresent([String: Int64].self, forKey: .limit)
        behindProxy = try values.decodeIfPresent(Bool.self, forKey: .behindProxy)
        maxConnections = try values.decodeIfPresent(Int.self, forKey: .maxConnections)
        node = try values.decodeIfPresent(String.self, forKey: .node)
    }

    /// Returns the options, completed with these settings.
    func completing(_ options: ServeOptions) throws -> ServeOptions {
        var options = options
        if options.unix == nil, options.host == nil, options.port == nil { options.unix = unix }
        options.host = options.host ?? host
        options.port = options.port ?? port
        options.metrics = options.metrics ?? metrics
        if options.tlsCert == nil, !options.tlsSelfSigned { (options.tlsCert, options.tlsKey) = (tlsCert, tlsKey) }
        options.tlsMin = options.tlsMin ?? tlsMin
        if options.origin.isEmpty { options.origin = origin ?? [] }
        try options.validate()
        return options
    }

    /// Returns the options, completed with these settings.
    func completing(_ options: HubOptions) throws -> HubOptions {
        var options = options
        options.data = options.data ?? data
        options.dev = options.dev || dev == true
        options.secretFile = options.secretFile ?? secretFile
        options.publicKey = options.publicKey ?? publicKey
        options.jwks = options.jwks ?? jwks
        options.issuer = options.issuer ?? issuer
        options.audience = options.audience ?? audience
        options.apiKeyFile = options.apiKeyFile ?? apiKeyFile
        options.backupTo = options.backupTo ?? backupTo
        options.keepCount = options.keepCount ?? keepCount
        options.keepDays = options.keepDays ?? keepDays
        options.keepBytes = options.keepBytes ?? keepBytes
        options.quotaUser = options.quotaUser ?? quotaUser
        options.quotaRoom = options.quotaRoom ?? quotaRoom
        options.quotaTotal = options.quotaTotal ?? quotaTotal
        options.keepFree = options.keepFree ?? keepFree
        // If a name occurs twice, the last value is used.
        options.limit = try limits() + options.limit
        options.behindProxy = options.behindProxy || behindProxy == true
        options.maxConnections = options.maxConnections ?? maxConnections
        options.node = options.node ?? node
        options.config = nil
        try options.validate()
        return options
    }

    private func limits() throws -> [HubLimit] {
        try (limit ?? [:]).map { name, value in
            guard let limit = HubLimit(name: name, value: value) else {
                throw ValidationError("limit: \(name.escapedOnOneLine) cannot be \(value); use \(HubLimit.names), 1 to 1000000000.")
            }
            return limit
        }
    }

    /// Returns the error in a file in a few words.
    static func words(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "it cannot be read" }
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "\(context.codingPath.last?.stringValue ?? "it") has a value of the wrong kind"
        case .dataCorrupted(let context):
            return (context.codingPath.last.map { "\($0.stringValue): " } ?? "") + context.debugDescription
        default: return "it cannot be read"
        }
    }
}
