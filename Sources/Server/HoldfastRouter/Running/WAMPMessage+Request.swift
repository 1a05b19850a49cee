import CodecCore
import WAMPCore

extension WAMPMessage {
    /// What whoever runs a router may allow or not, and of which URI.
    var request: (WAMPAction, uri: String)? {
        switch self {
        case .publish(_, _, let topic, _): (.publish, topic)
        case .subscribe(_, _, let topic): (.subscribe, topic)
        case .call(_, _, let procedure, _): (.call, procedure)
        case .register(_, _, let procedure): (.register, procedure)
        default: nil
        }
    }

    /// The same, with or without telling who calls or publishes.
    func disclosing(_ isDisclosed: Bool) -> WAMPMessage {
        switch self {
        case .publish(let request, var options, let topic, let arguments):
            options["disclose_me"] = .bool(isDisclosed)
            return .publish(request: request, options: options, topic: topic, arguments)
        case .call(let request, var options, let procedure, let arguments):
            options["disclose_me"] = .bool(isDisclosed)
            return .call(request: request, options: options, procedure: procedure, arguments)
        default: return self
        }
    }
}
