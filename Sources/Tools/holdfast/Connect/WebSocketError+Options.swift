import Holdfast

extension WebSocketError {
    private static let namesHere = [
        ("TLSOptions.additionalRoots", "--ca, with a PEM file"),
        ("TLSOptions.serverName", "--server-name"),
        ("TLSOptions.identity", "--cert, and --key"),
        ("TLSOptions.minimumVersion", "--tls-min"),
    ]

    /// What the settings that the error advises are called on the command line.
    var optionLines: [String] {
        Self.namesHere.filter { transport.detail.contains($0.0) }.map { "\($0.0) is \($0.1), here" }
    }
}
