extension TLSOptions {
    /// Leaves behind what was meant for the server that sends us elsewhere: who we are, and what it is called.
    package mutating func leaveOrigin(staysOnHost: Bool) {
        identity = nil
        if !staysOnHost { serverName = nil }
    }
}
