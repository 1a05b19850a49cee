/// What BoringSSL calls a fault; its own text is full of numbers, and of the paths of its sources.
enum BoringSSLReason {
    /// The reason in words, such as `incorrect password`; the whole text if there is none in it.
    static func words(of error: any Error) -> String {
        let text = "\(error)"
        guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return text }
        return text[mark.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }.lowercased().replacing("_", with: " ")
    }
}
