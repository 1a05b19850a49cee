extension TransportError.Code {
    /// The server's certificate is for other hosts.
    public static let wrongHost = Self(description: "wrongHost")
    /// A certificate of the server's chain has expired, or is not valid yet.
    public static let certificateExpired = Self(description: "certificateExpired")
    /// No trusted authority vouches for the server.
    public static let unknownAuthority = Self(description: "unknownAuthority")
    /// The server's chain has none of the pins that are enforced for the host.
    public static let pinMismatch = Self(description: "pinMismatch")
    /// The server wants a client certificate, and none was given.
    public static let clientCertificateWanted = Self(description: "clientCertificateWanted")
    /// The server did not accept the client certificate.
    public static let clientCertificateRefused = Self(description: "clientCertificateRefused")

    /// Those that say that TLS failed, and why.
    package static let trustFailures: Set<Self> = [
        .tls, .wrongHost, .certificateExpired, .unknownAuthority, .pinMismatch, .clientCertificateWanted, .clientCertificateRefused,
    ]
}
