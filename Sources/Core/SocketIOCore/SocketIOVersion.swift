import CodecCore

/// A version of the Socket.IO protocol.
///
/// A server and its clients must speak the same one.
public enum SocketIOVersion: Int, CaseIterable, Hashable, Sendable {
    /// Protocol 4 over Engine.IO protocol 3, of Socket.IO 1 and 2 and python-socketio 4.
    ///
    /// The client sends the pings. The server connects the namespace `/` on its own, so a payload for `/` cannot be sent. Those of other
    /// namespaces are sent as a query. Sessions are not recovered.
    case v4 = 4
    /// Protocol 5 over Engine.IO protocol 4, of Socket.IO 3 and 4 and python-socketio 5.
    case v5 = 5

    /// The version of Engine.IO.
    package var engine: Int { rawValue - 1 }
}

extension SocketIOVersion {
    /// Protocol 4: the namespace with the members of a payload as its query.
    static func target(_ namespace: String, payload: [UInt8]?) -> String {
        guard let payload, let members = (try? Value(json: payload))?.entries, !members.isEmpty else { return namespace }
        var separator: UInt8 = UInt8(ascii: "?")
        var writer = ByteWriter(capacity: namespace.utf8.count + payload.count + 16)
        writer.plain(namespace)
        for member in members {
            writer.append(separator)
            separator = UInt8(ascii: "&")
            writer.query(member.key)
            writer.append(UInt8(ascii: "="))
            writer.query(member.value)
        }
        return unsafe String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension ByteWriter {
    /// Writes a part of a query: a text as it is, another value as JSON, with escapes (RFC 3986 §2.3).
    fileprivate mutating func query(_ value: Value) {
        let text = value.string ?? (try? value.json()).map { String(decoding: $0, as: UTF8.self) } ?? ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: append(byte)
            default: plain("%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true))
            }
        }
    }
}
