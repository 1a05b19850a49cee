import Testing
import WAMPCore

@Suite struct WAMPURITests {
    @Test(arguments: ["com.myapp.mytopic1", "a", "com.Grüße.1", "a-b.c/d", "wamp.session.on_join", "com.\u{0}"])
    func `a URI of components is valid`(uri: String) {
        #expect(WAMPURI.isValid(uri))
        for match in WAMPMatch.allCases { #expect(WAMPURI.isValid(uri, match)) }
    }

    @Test(arguments: ["", ".", "com.", ".com", "com..app", "com.app."]) func `only a pattern has empty components`(uri: String) {
        #expect(!WAMPURI.isValid(uri))
        #expect(WAMPURI.isValid(uri, .prefix))
        #expect(WAMPURI.isValid(uri, .wildcard))
    }

    @Test(arguments: ["com app", "com.a#b", "com.\ta", "com.a\n", "\u{A0}", "com.\u{2028}"])
    func `white space and hash signs are invalid`(uri: String) {
        for match in WAMPMatch.allCases { #expect(!WAMPURI.isValid(uri, match)) }
    }

    @Test func `strict components contain only lower-case letters, digits and underscores`() {
        #expect(WAMPURI.isValid("com.my_app.topic1", strict: true))
        #expect(WAMPURI.isValid("com..topic1.", .wildcard, strict: true))
        for uri in ["com.MyApp", "com.my-app", "com.grüße", "com..app", ""] { #expect(!WAMPURI.isValid(uri, strict: true)) }
    }

    @Test func `a first component "wamp" is reserved`() {
        for uri in ["wamp", "wamp.", "wamp.session.count"] { #expect(WAMPURI.isReserved(uri)) }
        for uri in ["wampum", "wampum.a", "com.wamp", ""] { #expect(!WAMPURI.isReserved(uri)) }
    }
}
