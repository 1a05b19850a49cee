extension LiveSession {
    /// Passes on what a source tells of the app, until the session ends.
    func follow(_ source: (any LifeSource)?) async {
        guard let source else { return }
        for await update in source.updates() { await note(.life(update)) }
    }
}
