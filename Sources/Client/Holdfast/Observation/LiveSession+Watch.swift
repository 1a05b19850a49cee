extension LiveSession {
    /// How often the metrics hear of what is being carried.
    private static let watchInterval = Duration.seconds(10)

    /// Runs `body`, and keeps the metrics informed meanwhile.
    func watched<Result>(_ body: () async -> Result) async -> Result {
        guard instruments.isWatched else { return await body() }
        // SAFETY: ends with this function.
        let watch = Task { [instruments, sleep] in
            while (try? await sleep(Self.watchInterval)) != nil { instruments.tellTraffic() }
        }
        defer { watch.cancel() }
        return await body()
    }
}
