/// Why a token could not be loaded, saved or deleted; never holds a token.
public enum TokenStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is stored is no token: sign in again, and save the new one over it.
    case damaged(String)
    /// The device has not been unlocked since it started, so that its keychain is shut (`errSecInteractionNotAllowed`); passes.
    case locked
    /// The file is not the user's own, or others may read it, so it is not used; how that is.
    case exposed(String)
    /// The token has more than ``StoredToken/limit`` bytes, and was not saved.
    case tooLong
    /// The keychain said no, with this `OSStatus`.
    case keychain(status: Int32)
    /// The file system said no, with this `errno`, when this was tried.
    case file(errno: Int32, String)

    /// Whether the same may succeed later with nobody doing anything about it.
    public var isRetryable: Bool {
        switch self {
        case .locked, .file: true
        case .damaged, .exposed, .tooLong, .keychain: false
        }
    }

    /// A sentence for whoever looks for the cause.
    public var description: String {
        switch self {
        case .damaged(let how): "the stored token is damaged: \(how)"
        case .locked: "the keychain is shut until the device is unlocked for the first time"
        case .exposed(let how): "the stored token is not used: \(how)"
        case .tooLong: "a token has at most \(StoredToken.limit) bytes"
        case .keychain(let status): "the keychain refused with status \(status)\(KeychainStatus.hint(on: status))"
        case .file(let number, let what): "\(what): error \(number) of the system"
        }
    }
}
