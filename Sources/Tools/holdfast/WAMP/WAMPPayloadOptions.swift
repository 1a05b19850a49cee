import ArgumentParser
import CodecCore
import WAMPCore

/// What a call or an event carries.
struct WAMPPayloadOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The arguments: each is JSON, or else a text; '\"7\"' is a text, too. Write -- before the first that begins with -.",
            valueName: "argument"))
    var arguments: [JSONArgument] = []

    @Option(name: [.short, .long], help: ArgumentHelp("An argument with its name; repeatable.", valueName: "name=json"))
    var keyword: [KeywordArgument] = []

    func validate() throws {
        var names: Set<String> = []
        for argument in keyword where !names.insert(argument.name).inserted {
            throw ValidationError("--keyword: \(argument.name.escapedOnOneLine) stands twice.")
        }
    }

    /// Those by place.
    var list: [Value] { arguments.map(\.value) }

    /// Those by name.
    var keywords: ValueMap { ValueMap(keyword.map { ValueMap.Entry(key: .text($0.name), value: $0.value) }) }
}
