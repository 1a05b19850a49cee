import HoldfastTerminal

@testable import HoldfastTool

/// A decoder, an editor and a screen wired together, driven by the bytes a keyboard sends.
struct EditorSession {
    var decoder = KeyDecoder()
    var editor: LineEditor
    var screen: TerminalScreen
    var submitted: [String] = []
    var others: [LineEditor.Effect] = []

    init(columns: Int = 40) {
        editor = LineEditor(columns: columns)
        screen = TerminalScreen(columns: columns)
        apply(.show)
    }

    mutating func type(_ text: String) { type(bytes: Array(text.utf8)) }

    mutating func type(bytes: some Sequence<UInt8>) {
        for key in decoder.decode(bytes) { apply(.key(key)) }
    }

    mutating func apply(_ input: LineEditor.Input) {
        var effects: [LineEditor.Effect] = []
        editor.handle(input, into: &effects)
        for effect in effects {
            switch effect {
            case .write(let text): screen.write(text)
            case .submit(let text): submitted.append(text)
            default: others.append(effect)
            }
        }
    }
}
