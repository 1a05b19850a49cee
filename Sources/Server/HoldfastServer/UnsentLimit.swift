import NIOCore

extension NIOBSDSocket.Option {
    #if canImport(Darwin)
        /// `TCP_NOTSENT_LOWAT`: how many bytes may wait in the system before the socket takes no more.
        static let unsentLimit = NIOBSDSocket.Option(rawValue: 0x201)
    #else
        /// `TCP_NOTSENT_LOWAT`: how many bytes may wait in the system before the socket takes no more.
        static let unsentLimit = NIOBSDSocket.Option(rawValue: 25)
    #endif
}
