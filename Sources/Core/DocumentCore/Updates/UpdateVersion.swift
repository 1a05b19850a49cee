/// A version of the update format of Yjs.
///
/// The bytes do not tell it: the channel decides.
public enum UpdateVersion: Sendable, Hashable, CaseIterable {
    /// One stream. What y-websocket and Hocuspocus speak.
    case v1
    /// Columns with run-length codes: smaller, for storage.
    case v2
}
