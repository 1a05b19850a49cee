/// What a message's words may tell beside the message: names for numbers, and whether payloads are shown.
public struct WAMPWording {
    /// How many characters of a payload are shown; 0: none, only how many values it has.
    public var payloadLimit: Int
    /// The topic of a subscription's id, if it is known.
    public var topic: (WAMPID) -> String?
    /// The procedure of a registration's id, if it is known.
    public var procedure: (WAMPID) -> String?
    /// What a request was about, if it is known: the procedure of a call, the topic of a subscription.
    public var request: (WAMPRequestKind, WAMPID) -> String?

    /// Wording without payloads and names, unless told otherwise.
    public init(
        payloadLimit: Int = 0, topic: @escaping (WAMPID) -> String? = { _ in nil }, procedure: @escaping (WAMPID) -> String? = { _ in nil },
        request: @escaping (WAMPRequestKind, WAMPID) -> String? = { _, _ in nil }
    ) {
        (self.payloadLimit, self.topic, self.procedure, self.request) = (payloadLimit, topic, procedure, request)
    }

    /// What is shown of a text that a peer chose: no control characters and no spaces without quotes, and 200 characters at most.
    static func shown(_ text: String, limit: Int = 200) -> String {
        let isPlain = !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.isGraphic }
        let short = text.count > limit ? String(text.prefix(limit)) + "…" : text
        return isPlain ? short : quoted(short)
    }

    /// A text in quotes, its control characters as escapes.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            let isPlain = scalar == " " || scalar.properties.isGraphic && scalar != "\"" && scalar != "\\"
            quoted += isPlain ? String(scalar) : scalar.escaped(asASCII: true)
        }
        return quoted + "\""
    }
}

extension Unicode.Scalar.Properties {
    /// Whether it is seen where it stands, and changes nothing around it.
    fileprivate var isGraphic: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator: false
        default: true
        }
    }
}
