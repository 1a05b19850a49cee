import MachineCore

/// What is secret in the request for a connection.
extension KnownSecrets {
    /// How long a text without a telling name has to be to count: shorter ones stand everywhere, and mean nothing.
    private static let least = 8

    /// The texts in a request that may be secret: values of the query, of fields that are not public, cookies, subprotocols, passwords.
    package static func carried(
        by url: WebSocketURL?, _ headers: HeaderFields, _ subprotocols: [String], _ proxy: Proxy? = nil
    ) -> [String] {
        var texts: [String] = []
        for item in (url?.target.drop { $0 != "?" }.dropFirst() ?? "").split(separator: "&") { texts += pair(item) }
        for field in headers where field.shownValue != field.value {
            switch HeaderSyntax.lowercased(field.name) {
            case "cookie": for cookie in field.value.split(separator: ";") { texts += pair(cookie) }
            case "authorization": texts += parts(ofAuthorization: field.value)
            default: if isTelling(field.name, field.value) { texts.append(field.value) }
            }
        }
        for name in subprotocols where Secrecy.subprotocol(name) != name { texts += parts(ofSubprotocol: name) }
        if let login = proxy?.login { texts += [login.password, "\(login.user):\(login.password)"] }
        return texts.filter { !$0.isEmpty }
    }

    /// The parts of a credential: of a name and a password, the password by itself, too.
    package static func parts(of secret: String) -> [String] {
        guard let colon = secret.firstIndex(of: ":") else { return [secret] }
        return [secret, String(secret[secret.index(after: colon)...])]
    }

    /// The whole, and what stands behind the first dot: `bearer.…` is a usual form.
    private static func parts(ofSubprotocol name: String) -> [String] {
        let token = name.drop { $0 != "." }.dropFirst()
        return isTelling("", token) ? [name, String(token)] : [name]
    }

    private static func parts(ofAuthorization value: String) -> [String] {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return [value] }
        let secret = String(parts[1])
        guard HeaderSyntax.isEqual(String(parts[0]), "Basic"), let login = Base64.bytes(of: secret.utf8, isCanonical: false) else {
            return [secret]
        }
        return [secret] + self.parts(of: String(decoding: login, as: UTF8.self))
    }

    /// The value of `name=value` as it stands and as it is meant.
    private static func pair(_ text: Substring) -> [String] {
        guard let sign = text.firstIndex(of: "=") else { return isTelling("", text) ? [String(text)] : [] }
        let value = text[text.index(after: sign)...]
        // Cookies have a blank between them.
        guard isTelling(text[..<sign].drop { $0 == " " }, value) else { return [] }
        return [String(value)] + (PercentEncoding.decode(value).map { [$0] } ?? [])
    }

    private static func isTelling(_ name: some StringProtocol, _ value: some StringProtocol) -> Bool {
        value.utf8.count >= least || Secrecy.isSecret(name.utf8)
    }
}
