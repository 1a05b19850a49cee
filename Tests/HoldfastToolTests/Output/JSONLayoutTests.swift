import Testing

@testable import HoldfastTool

@Suite struct JSONLayoutTests {
    @Test func `values keep their digits and their order`() {
        let text = #"{"z":1.10,"a":[1e400,-0,12345678901234567890,"\u00e9\n",true,null,{}],"e":[]}"#
        #expect(
            JSONLayout.pretty(text) == """
                {
                  "z": 1.10,
                  "a": [
                    1e400,
                    -0,
                    12345678901234567890,
                    "\\u00e9\\n",
                    true,
                    null,
                    {}
                  ],
                  "e": []
                }
                """)
    }

    @Test(arguments: ["1", "\"é\"", "  null  ", "-1.5E+3"]) func `a lone value is JSON`(text: String) {
        #expect(JSONLayout.pretty(text) == text.split(separator: " ").joined())
    }

    @Test(arguments: [
        "", " ", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "{1:1}", "01", "1.", "-", "1e", "tru", "nullx", "\"", "\"\\x\"",
        "\"\\u12\"", "\"a\nb\"", "[1] 2", "{\"a\":1,}", "hello", "[1 2]",
    ])
    func `what is not JSON is left alone`(text: String) {
        #expect(JSONLayout.pretty(text) == nil)
    }

    @Test func `nesting without end is left alone`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(JSONLayout.pretty(deep) == nil)
        #expect(JSONLayout.pretty(String(repeating: "[", count: 100) + String(repeating: "]", count: 100)) != nil)
    }
}
