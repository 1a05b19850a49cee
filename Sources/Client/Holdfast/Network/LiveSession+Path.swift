extension LiveSession {
    /// Passes on what a source tells of the network, until the session ends.
    func follow(_ source: (any PathSource)?) async {
        guard let source else { return }
        for await update in source.updates() { await note(.path(update)) }
    }
}
