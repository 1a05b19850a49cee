import ArgumentParser
import Foundation

/// The options of a hub as a file has them.
struct HubSettings: Decodable {
    var host: String?
    var port: Int?
    var tlsCert: String?
    var tlsKey: String?
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
    var maxConnections: Int?
    var node: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case host, port, data, dev, jwks, issuer, audience, origin, node
        case tlsCert = "tls-cert"
        case tlsKey = "tls-key"
        case secretFile = "secret-file"
        case publicKey = "public-key"
        case apiKeyFile = "api-key-file"
        case backupTo = "backup-to"
        case keepCount = "keep-count"
        case keepDays = "keep-days"
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
        // What is misspelt would have no effect, and nobody would notice.
        let names = Set(CodingKeys.allCases.map(\.rawValue))
        if let unknown = try decoder.container(keyedBy: AnyKey.self).allKeys.first(where: { !names.contains($0.stringValue) }) {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "there is no option \(unknown.stringValue)"))
        }
        let values = try decoder.container(keyedBy: CodingKeys.self)
        host = try values.decodeIfPresent(String.self, forKey: .host)
        port = try values.decodeIfPresent(Int.self, forKey: .port)
        tlsCert = try values.decodeIfPresent(String.self, forKey: .tlsCert)
        tlsKey = try values.decodeIfPresent(String.self, forKey: .tlsKey)
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
        maxConnections = try values.decodeIfPresent(Int.self, forKey: .maxConnections)
        node = try values.decodeIfPresent(String.self, forKey: .node)
    }

    /// Options, with what they leave at its default out of this.
    func completing(_ options: ServeOptions) throws -> ServeOptions {
        var (options, usual) = (options, try ServeOptions.parse([]))
        if options.host == usual.host, let host { options.host = host }
        if options.port == usual.port, let port { options.port = port }
        if options.tlsCert == nil { (options.tlsCert, options.tlsKey) = (tlsCert, tlsKey) }
        usual = options
        try usual.validate()
        return usual
    }

    /// The same.
    func completing(_ options: HubOptions) throws -> HubOptions {
        var options = options
        options.data = options.data ?? data
        options.dev = options.dev || dev == true
        options.secretFile = options.secretFile ?? secretFile
        options.publicKey = options.publicKey ?? publicKey
        options.jwks = options.jwks ?? jwks
        options.issuer = options.issuer ?? issuer
        options.audience = options.audience ?? audience
        if options.origin.isEmpty { options.origin = origin ?? [] }
        options.apiKeyFile = options.apiKeyFile ?? apiKeyFile
        options.backupTo = options.backupTo ?? backupTo
        options.keepCount = options.keepCount ?? keepCount
        options.keepDays = options.keepDays ?? keepDays
        options.maxConnections = options.maxConnections ?? maxConnections
        options.node = options.node ?? node
        options.config = nil
        try options.validate()
        return options
    }

    /// What is wrong with a file, in few words.
    static func words(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "it cannot be read" }
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "\(context.codingPath.last?.stringValue ?? "it") has a value of another kind"
        case .dataCorrupted(let context): return context.debugDescription
        default: return "it cannot be read"
        }
    }
}
