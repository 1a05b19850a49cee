import SessionCore

/// What telemetry and paced senders still hold, when the session or the app is about to go.
extension LiveSession {
    /// Lets what is held go out before the app is gone; false if there is newer news of the app's life meanwhile.
    func isReady(for life: AppLife.Input) async -> Bool {
        lifeNews += 1
        let news = lifeNews
        if life == .background { await sendHeld() }
        return lifeNews == news
    }

    /// Takes nothing more, and lets what is held go out before the connection is closed.
    func closeHeld() async {
        held.close()
        await sendHeld()
    }

    /// Without a connection there is nothing to wait for.
    private func sendHeld() async { if desk.line != nil, !held.isEmpty { await held.sayFarewell() } }
}
