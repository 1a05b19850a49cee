extension EditedLine {
    /// Does what a key asks for, as shells do; what only a program understands changes nothing.
    mutating func edit(_ key: Key, _ history: inout LineHistory) {
        switch key {
        case .text(let text), .paste(let text): insert(text)
        case .tab: insert("\t")
        case .backspace, .control("h"): deleteBackward()
        case .delete, .control("d"): deleteForward()
        case .left, .control("b"): moveLeft()
        case .right, .control("f"): moveRight()
        case .home, .control("a"): moveToStart()
        case .end, .control("e"): moveToEnd()
        case .wordLeft, .alt("b"): moveWordLeft()
        case .wordRight, .alt("f"): moveWordRight()
        case .up, .control("p"): if let text = history.older(than: text) { replace(with: text) }
        case .down, .control("n"): if let text = history.newer() { replace(with: text) }
        case .control("k"): killToEnd()
        case .control("u"): killToStart()
        case .control("w"): killTokenBackward()
        case .alt("d"): killWordForward()
        case .control("y"): yank()
        case .control("c"): replace(with: "")
        case .enter, .pageUp, .pageDown, .control, .alt: break
        }
    }
}
