import NIOCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Channel {
    /// Closes the connection at once, as an end or as a reset.
    func hangUp(_ ending: LinkEnding) {
        guard ending == .rst, let socket = self as? any SocketOptionProvider else { return close(promise: nil) }
        // Nothing lingers: the system forgets what is not sent yet, and says so with RST.
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in self.close(promise: nil) }
    }
}
