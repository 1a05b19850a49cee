import CodecCore
import QuotesCore
import SwiftProtobuf

extension WireRequest {
    fileprivate init(_ request: QuotesRequest) {
        self.init()
        switch request {
        case .subscribe(let id, let symbols, let rate):
            var subscribe = WireSubscribe()
            (subscribe.id, subscribe.symbols) = (UInt64(clamping: id), symbols)
            if let rate { subscribe.rate = UInt32(clamping: rate) }
            self.subscribe = subscribe
        case .unsubscribe(let id): unsubscribe.id = UInt64(clamping: id)
        case .resync(let round): resync.round = UInt64(clamping: round)
        }
    }
}

extension QuotesRequest {
    var protobuf: [UInt8] {
        // Only a required field that is missing can fail, and proto3 has none.
        (try? WireRequest(self).serializedBytes()) ?? []
    }

    /// What a client sent; nil if it is of a type that a later version has.
    init?(protobuf bytes: UnsafeRawBufferPointer) throws {
        guard ProtobufShape.isPlain(bytes, fields: .max) else { throw CodecError(.malformed, at: 0) }
        switch try WireRequest(serializedBytes: bytes.bytes).body {
        case .subscribe(let subscribe):
            self = .subscribe(
                id: try Int64(wire: subscribe.id), symbols: subscribe.symbols, rate: subscribe.hasRate ? Int64(subscribe.rate) : nil)
        case .unsubscribe(let unsubscribe): self = .unsubscribe(id: try Int64(wire: unsubscribe.id))
        case .resync(let resync): self = .resync(round: try Int64(wire: resync.round))
        case nil: return nil
        }
    }
}

extension Int64 {
    /// A number of the protocol.
    init(wire number: some BinaryInteger) throws(CodecError) {
        guard let number = Int64(exactly: number), number.magnitude <= QuoteFigures.maximum else { throw CodecError(.overflow, at: 0) }
        self = number
    }
}
