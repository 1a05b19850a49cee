/// The methods of authentication, as the wire calls them.
public enum SigningMethod {
    /// Nobody in particular.
    public static let anonymous = "anonymous"
    /// A ticket that is shown as it is.
    public static let ticket = "ticket"
    /// A challenge, signed with a secret that both sides know.
    public static let cra = "wampcra"
    /// A challenge, signed with a private key.
    public static let cryptosign = "cryptosign"
    /// A password that neither side shows, as Crossbar and Autobahn have it.
    public static let scram = "scram"
    /// A password that neither side shows, as the specification has it.
    public static let standardScram = "wamp-scram"
}
