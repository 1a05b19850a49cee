import Foundation
import HoldfastRooms
import Testing

@testable import HoldfastUI

@Suite struct WordsTests {
    /// The texts of a translation by key, from the package's sources.
    private static func translation(_ language: String) throws -> [String: String] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let file = root.appendingPathComponent("Sources/Client/HoldfastUI/Resources/\(language).lproj/Localizable.strings")
        var texts: [String: String] = [:]
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where line.hasPrefix("\"") {
            let match = try #require(line.wholeMatch(of: #/"([^"\\]+)" = "([^"\\]+)";/#), "\(line)")
            #expect(texts.updateValue(String(match.2), forKey: String(match.1)) == nil, "\(match.1) stands twice")
        }
        return texts
    }

    private static func places(_ text: String) -> Set<String> { Set(text.matches(of: #/%\d\$@/#).map { String($0.0) }) }

    @Test func `the English texts in the package and in the code are the same`() throws {
        let texts = try Self.translation("en")
        #expect(Set(texts.keys) == Set(Phrase.allCases.map(\.rawValue)))
        for phrase in Phrase.allCases { #expect(texts[phrase.rawValue] == phrase.english) }
    }

    @Test func `German has every text with every placeholder`() throws {
        let texts = try Self.translation("de")
        #expect(Set(texts.keys) == Set(Phrase.allCases.map(\.rawValue)))
        for phrase in Phrase.allCases { #expect(Self.places(try #require(texts[phrase.rawValue])) == Self.places(phrase.english)) }
        // These texts are the same in both languages.
        let alike = Phrase.allCases.filter { texts[$0.rawValue] == $0.english }
        #expect(alike == [.spokenMessage, .offline])
    }

    @Test(arguments: [
        ("%1$@ and %2$@", ["a", "b"], "a and b"),
        ("%2$@ before %1$@", ["a", "b"], "b before a"),
        ("%1$@", ["%2$@", "b"], "%2$@"),
        ("100% of %1$@", ["a"], "100% of a"),
        ("%3$@ %0$@ %x$@ %1$", ["a"], "%3$@ %0$@ %x$@ %1$"),
        ("%%1$@%", ["a"], "%a%"),
        ("", ["a"], ""),
    ]) func `an argument replaces its placeholder, and is not parsed again`(text: String, arguments: [String], filled: String) {
        #expect(Words.fill(text, arguments) == filled)
    }

    @Test func `a translation is looked up by key before English is used`() {
        let words = Words { $0 == "chat.typing.one" ? "%1$@ écrit" : nil }
        #expect(words(.typingOne, "Ann") == "Ann écrit")
        #expect(words(.send) == "Send")
    }

    @Test func `connection and delivery states have texts`() {
        let words = Words.english
        #expect(words.label(.reconnecting(seconds: 3)) == "reconnecting in 3 s")
        #expect(words.label(.closed(isFailure: true)) == "connection failed")
        #expect(words.label(ChatConnection.closed("banned")) == "banned")
        #expect(words.label(ChatConnection.closed(nil)) == "closed")
        #expect(words.label(ChatDelivery.seen(1)) == "seen by one person")
        #expect(words.label(ChatDelivery.seen(2)) == "seen by 2 people")
        #expect(words.label(.failed("too long")) == "not sent: too long")
    }

    @Test func `the badge's English text equals the description of the status`() {
        let all = [
            ConnectionStatus.connecting, .connected, .reconnecting(seconds: 7), .offline, .closed(isFailure: true),
            .closed(isFailure: false),
        ]
        for status in all { #expect(Words.english.label(status) == status.label) }
    }
}
