import ArgumentParser
import Holdfast
import HoldfastServer

/// How a server takes messages; a hub has none of these, for its protocol leaves nothing of it open.
struct ServeMessageOptions: ParsableArguments {
    @OptionGroup var http: HTTPVersionOptions

    @Option(help: ArgumentHelp("The largest message taken, such as 65536, 64K or 16M (default: 1M).", valueName: "bytes"))
    var maxMessage: ByteCount?

    @Flag(help: "Do not agree to permessage-deflate.")
    var noCompression = false

    func apply(to configuration: inout WebSocketServerConfiguration) {
        configuration.httpVersion = http.version
        if let maxMessage { configuration.limits.message = maxMessage.bytes }
        if noCompression { configuration.compression = nil }
    }
}
