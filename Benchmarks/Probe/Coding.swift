import Foundation
import Holdfast
import WebSocketCore

/// The work of a codec for one tick of a market.
enum Coding {
    private struct Tick: Codable, Equatable {
        var symbol = "SAIL"
        var bid = 189.53
        var ask = 189.55
        var last = 189.54
        var volume = 12_017
        var time = Date(timeIntervalSinceReferenceDate: 812_345_678.125)
    }

    static func encode(with codec: some MessageCodec, _ messages: Int) throws {
        let (tick, length) = (Tick(), try codec.encode(Tick()).byteCount)
        var byteCount = 0
        for _ in 0..<messages { byteCount += try codec.encode(tick).byteCount }
        try Failure.check("bytes encoded", byteCount, messages * length)
    }

    static func decode(with codec: some MessageCodec, _ messages: Int) throws {
        let message = try codec.encode(Tick())
        var volume = 0
        for _ in 0..<messages { volume += try codec.decode(Tick.self, from: message).volume }
        try Failure.check("volume decoded", volume, messages * Tick().volume)
    }
}
